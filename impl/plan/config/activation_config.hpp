// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::plan {

/// Layers of a chunk whose forward pass runs again in backward, so that only some inputs are kept until then.
enum class RecomputeMethod : std::uint8_t {
  none,
  uniform,  ///< all, in groups that keep the input of their first layer
  block,    ///< the first ones, each of which keeps its input
};

struct RecomputeConfig {
  RecomputeMethod method = RecomputeMethod::none;
  std::int32_t num_layers = 0;  ///< uniform: of a group; block: that are recomputed
  bool mlp = false;             ///< the MLP of each layer, where no whole layers are
};

/// Layers whose activations wait in the host's memory between forward and backward.
struct OffloadConfig {
  std::int32_t num_layers = 0;
};

}  // namespace underlap::plan
