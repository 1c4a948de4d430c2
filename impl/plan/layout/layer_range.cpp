// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/layer_range.hpp"

#include <numeric>

#include "impl/plan/config.hpp"

namespace underlap::plan {

LayerRange layers_of(const Config& config, std::int32_t stage, std::int32_t chunk) {
  const ParallelConfig& p = config.parallel;
  const auto ranges = static_cast<std::int32_t>(p.num_chunks());
  const std::int32_t index = chunk * p.num_stages() + stage;
  const auto length = static_cast<std::int32_t>(config.model.num_layers) / ranges;
  if (p.layers_of_ranges.empty()) return {index * length, length, index == 0, index == ranges - 1};
  const auto begin = p.layers_of_ranges.begin(), own = begin + index;
  return {std::accumulate(begin, own, 0), *own, index == 0, index == ranges - 1};
}

}  // namespace underlap::plan
