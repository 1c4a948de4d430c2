// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::plan {

struct Config;

/// Layers of a model that follow each other and lie on one pipeline stage, as one of its chunks.
struct LayerRange {
  std::int32_t first_layer = 0;
  std::int32_t num_layers = 0;
  bool has_embedding = true;  ///< it is the first of the model
  bool has_head = true;       ///< it is the last

  bool is_whole() const { return has_embedding && has_head; }
};

/// Chunk c of stage s is the (c * stages + s)-th of the ranges that the layers are cut into.
/// Source: Narayanan et al. 2021, section 2.2; Megatron Core's layer assignment.
LayerRange layers_of(const Config& config, std::int32_t stage, std::int32_t chunk);

}  // namespace underlap::plan
