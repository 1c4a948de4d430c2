// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// A cell's configuration, small enough to compute, and how it became so.
struct ShrunkCell {
  plan::Config config;
  std::vector<std::string> changes;  ///< "num_layers 32 -> 2"; empty: it is as it was
};

/// Makes the cells of a matrix small enough that `steps` steps of all of them cost no more than `most_flop`
/// floating-point operations, as far as that goes.
///
/// What a schedule is made of stays: layers, microbatches and ranks of more than one, the shape of a layer in ratios,
/// the number of buckets. Smaller become, one after the other until it is enough: the micro-batch, the sequence, the
/// number of microbatches, layers, the vocabulary, the width, the data-parallel size. What divides the work is divided
/// alike in all cells, so those that compute the same still do.
std::vector<ShrunkCell> shrunk_cells(const std::vector<plan::Cell>& cells, std::int64_t steps, double most_flop);

}  // namespace underlap::bench
