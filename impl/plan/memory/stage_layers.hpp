// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/plan/layout/layer_range.hpp"
#include "impl/plan/memory/rank_shape.hpp"

namespace underlap::plan {

struct Config;

/// A pipeline stage and the layers of its chunks.
struct Stage {
  std::int32_t index = 0, num_stages = 1;
  std::vector<LayerRange> chunks = {};

  bool is_first() const { return index == 0; }
  bool is_last() const { return index == num_stages - 1; }
  double num_layers() const;
  /// Of them those whose products are in fewer than 16 bits.
  double low_precision_layers(const Config& config) const;
};

/// Parameters of one tensor-parallel rank, by location.
struct StageParameters {
  double low_precision = 0;  ///< weights of products in fewer than 16 bits
  double layers = 0;         ///< of all layers, these included
  double tables = 0;         ///< embedding, and head with its norm
  double total() const { return layers + tables; }
};
StageParameters stage_parameters(const Config& config, const RankShape& shape, const Stage& stage);

/// The stages that may have the largest need: all of them if layers are split unevenly. Otherwise the first, the second
/// and the last, because the others hold as much as the second, for fewer microbatches.
std::vector<Stage> stages_to_compare(const Config& config);

}  // namespace underlap::plan
