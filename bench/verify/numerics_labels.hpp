// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// How far a cell's loss may be from its reference's, relative, before the techniques are called wrong.
struct LossTolerance {
  double reordered = 2e-3;
  double lower_precision = 2e-2;
};

/// The cell that `cell` is held against, by index; itself where there is none. nullopt where the cell is not checked.
std::optional<std::size_t> numerics_reference(const std::vector<plan::Cell>& cells,
                                              const std::vector<report::CellResult>& results, std::size_t cell);

/// Labels every cell by what its losses show against its reference's at equal steps.
///
/// A cell's reference is the cell with every overlap off and otherwise equal; that of a cell without overlap is the
/// first cell that computes the same: equal model, data, optimizer, seed and global batch. Overlap alone must leave
/// every bit as it is, unless gradients are clipped, since the norm is summed bucket by bucket, or sums have another
/// order: of a tensor-parallel group in ring exchanges, and on GPUs, from three ranks on, where a bulk or pipelined
/// reduce-scatter may take another of NCCL's algorithms; and of attention's backward, which on GPUs adds by atomics
/// unless in deterministic_mode. Another type or sum of the gradients may differ within the
/// tolerance. Cells without transfers or over an emulated link, and cells that share no step with their reference, are
/// not checked. Returns a message for every cell whose losses are not what they must be.
std::vector<std::string> label_numerics(const std::vector<plan::Cell>& cells, std::vector<report::CellResult>& results,
                                        const LossTolerance& tolerance = {});

}  // namespace underlap::bench
