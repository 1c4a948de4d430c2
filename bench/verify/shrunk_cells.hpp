// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// A cell's configuration, small enough to compute, and what was changed.
struct ShrunkCell {
  plan::Config config;
  std::vector<std::string> changes;  ///< "num_layers 32 -> 2"; empty: unchanged
};

/// Shrinks the cells of a matrix until `steps` steps of all of them cost at most `most_flop` floating-point operations,
/// as far as possible.
///
/// The structure of a schedule is kept: more than one layer, microbatch and rank stays more than one, and the ratios in
/// a layer and the number of buckets do not change. These shrink in turn until the cost is low enough: the micro-batch,
/// the sequence, the number of microbatches, layers, the vocabulary, the width, the data-parallel size. All cells are
/// divided alike, so cells that compute the same still do.
std::vector<ShrunkCell> shrunk_cells(const std::vector<plan::Cell>& cells, std::int64_t steps, double most_flop);

}  // namespace underlap::bench
