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

/// The cells of a matrix in as few parts as fit one after the other, in the order of the matrix. A cell that does not
/// fit by itself is a part of its own.
///
/// fits  whether these cells fit together
std::vector<CellPart> parts_that_fit(std::size_t num_cells, const std::function<bool(const CellPart&)>& fits);

/// The same by the memory that plans predict: of this machine where ranks run on its cores, at most `most_ranks` of a
/// cell; of its first GPU where they run on GPUs, and one part where this machine has none. All cells of the
/// virtual-time backend are one part: it holds one cell at a time by itself.
std::vector<CellPart> parts_in_memory(std::span<const plan::Cell> cells, std::int32_t most_ranks = kAllRanks);

}  // namespace underlap::bench
