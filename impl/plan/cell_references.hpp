// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// The reference cells of a matrix cell, which it is compared with. They depend on effective settings, not on the names
/// of axes, sets and cells.
///
/// Two cells do the same work if their effective settings are equal, except keys of overlap, run.no_comm, and how steps
/// are recorded (Role of each key). `run` compares with these cells:
///
/// off      Transfers, does the same work, and has a proper subset of this cell's overlap switches on (also an equal
///          set if this cell transfers nothing). The cell with the fewest switches is selected. A cell that waits for
///          more than without any switch (extensions.tp_async_collectives false) is compared with the cell that does
///          not. It is off for other cells only if there is no such cell. Ties: the cell that differs in the fewest
///          keys, then the first. A cell that others are compared with is its own reference.
/// no_comm  Transfers nothing and does the same work. Selected in the same way, because T_comp is the time of the
///          unsplit kernels.
struct CellReferences {
  std::vector<std::string> overlaps;  ///< overlap switches in effect, by the names of their keys
  std::optional<std::size_t> off;     ///< indices of cells
  std::optional<std::size_t> no_comm;
};

/// The references of each cell.
std::vector<CellReferences> cell_references(std::span<const Cell> cells);

}  // namespace underlap::plan
