// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// What a cell of a matrix is held against. It follows from what is in effect; what axes, sets and cells are called
/// plays no part.
///
/// Two cells do the same work where the same is in effect in both but for keys of overlap, run.no_comm, and how steps
/// are recorded (Role of each key). `run` of other cells:
///
/// off      transfers, does the same work, and has fewer switches of overlap on, none that this cell has off; of these
///          cells the one with the fewest. A cell that waits for more than without any switch
///          (extensions.tp_async_collectives false) is held against the one that does not, and is off for no other
///          where that one is there. Of several the one that differs in the fewest keys, then the first. A cell that
///          another is held against is its own.
/// no_comm  transfers nothing and does the same work; of several chosen likewise, since T_comp is to be that of the
///          unsplit kernels.
struct CellReferences {
  std::vector<std::string> overlaps;  ///< switches of overlap that are in effect, by the names of their keys
  std::optional<std::size_t> off;     ///< as indices
  std::optional<std::size_t> no_comm;
};

/// Those of each cell.
std::vector<CellReferences> cell_references(std::span<const Cell> cells);

}  // namespace underlap::plan
