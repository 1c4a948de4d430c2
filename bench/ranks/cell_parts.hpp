// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/ranks/rank_runner.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Indices of cells that are in memory at the same time.
using CellPart = std::vector<std::size_t>;
CellPart all_cells(std::size_t num_cells);

/// Splits the cells of a matrix into the fewest parts that fit one after the other, in the order of the matrix. A cell
/// that does not fit on its own becomes a separate part.
///
/// fits  whether these cells fit together
std::vector<CellPart> parts_that_fit(std::size_t num_cells, const std::function<bool(const CellPart&)>& fits);

/// The same with the memory that plans predict. For ranks on this machine's cores: its memory, with at most
/// `most_ranks` ranks of a cell. For ranks on GPUs: the memory of its first GPU, and one part if it has no GPU. All
/// cells of the virtual-time backend are one part, since it holds one cell at a time.
std::vector<CellPart> parts_in_memory(std::span<const plan::Cell> cells, std::int32_t most_ranks = kAllRanks);

}  // namespace underlap::bench
