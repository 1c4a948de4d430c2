// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "impl/plan/config/activation_config.hpp"

namespace underlap::model {

/// Layers of a chunk that follow each other.
struct LayerGroup {
  std::int32_t first = 0;  ///< in the chunk
  std::int32_t num_layers = 1;
  /// Only the input of the first is kept from forward; the group runs forward again before its backward pass.
  bool is_recomputed = false;
};

/// A microbatch's places among those of its chunk.
struct Slot {
  std::int32_t activations = 0;  ///< of what its forward pass keeps, until its backward pass is complete
  std::int32_t gradients = 0;    ///< of what its backward pass keeps for deferred weight gradients
};

/// Where a layer keeps what its forward pass leaves for its backward pass.
struct Keeping {
  std::int32_t num_slots = 1;           ///< places of its own, one for each microbatch between the two
  std::int32_t num_gradient_slots = 0;  ///< places for gradients, where backward passes put weight gradients off
  bool is_recomputed = false;  ///< one place, slot 0, for all layers at the same position of a recomputed group
  std::int32_t position = 0;   ///< that position
};

/// The groups of a chunk of `num_layers` layers, in their order. The last one of `uniform` takes the remaining layers;
/// a layer that keeps its activations is a group of its own.
/// Source: Megatron Core's transformer block under recompute_granularity full.
inline std::vector<LayerGroup> layer_groups(const plan::RecomputeConfig& recompute, std::int32_t num_layers) {
  const bool is_uniform = recompute.method == plan::RecomputeMethod::uniform;
  const bool is_block = recompute.method == plan::RecomputeMethod::block;
  const std::int32_t length = is_uniform ? std::min(recompute.num_layers, num_layers) : 1;
  const std::int32_t recomputed = is_uniform ? num_layers : is_block ? recompute.num_layers : 0;
  std::vector<LayerGroup> groups;
  for (std::int32_t first = 0; first < num_layers; first += length)
    groups.push_back({first, std::min(length, num_layers - first), first < recomputed});
  return groups;
}

}  // namespace underlap::model
