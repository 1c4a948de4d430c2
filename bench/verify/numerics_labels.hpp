// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Index of the cell that `cell` is compared with; `cell` itself if there is none. nullopt if the cell is not checked.
std::optional<std::size_t> numerics_reference(const std::vector<plan::Cell>& cells,
                                              const std::vector<report::CellResult>& results, std::size_t cell);

/// Labels every cell by comparing its losses with its reference's at equal steps.
///
/// A cell's reference is the cell with every overlap off and otherwise equal. A cell without overlap refers to the
/// first cell that computes the same: equal model, data, optimizer, seed and global batch. Overlap alone must keep
/// every bit, with these exceptions. Clipped gradients: the norm is summed bucket by bucket. Ring exchanges of a
/// tensor-parallel group sum in another order. On GPUs, from three ranks on, a bulk or pipelined reduce-scatter may use
/// another of NCCL's algorithms. On GPUs, attention's backward adds by atomics unless in deterministic_mode. Another
/// data type or sum of the gradients may differ within the tolerance. Cells without transfers or over an emulated link,
/// and cells that share no step with their reference, are not checked. Returns a message for every cell whose losses
/// are wrong.
std::vector<std::string> label_numerics(const std::vector<plan::Cell>& cells, std::vector<report::CellResult>& results);

}  // namespace underlap::bench
