// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/dp/parameter.hpp"
#include "impl/plan/config.hpp"

namespace underlap::model {

/// Indices of one layer's weights. Shapes [out features, in features]; H hidden, A heads, G key/value heads, D head
/// size, F feed-forward.
struct LayerParameters {
  std::int32_t attention_norm = 0;  ///< [1, H]
  std::int32_t qkv = 0;             ///< [(A + 2 G) D, H]: all queries, then keys, then values
  std::int32_t proj = 0;            ///< [H, A D]
  std::int32_t mlp_norm = 0;        ///< [1, H]
  std::int32_t fc1 = 0;             ///< [2 F, H] with SwiGLU (gate, then up), else [F, H]
  std::int32_t fc2 = 0;             ///< [H, F]
};

/// All weights of a model, in the order of the forward pass.
struct ModelParameters {
  std::vector<dp::Parameter> all;
  std::int32_t word_embedding = 0;      ///< [V, H]
  std::int32_t position_embedding = 0;  ///< [S, H]
  std::vector<LayerParameters> layers;
  std::int32_t final_norm = 0;  ///< [1, H]
  std::int32_t head = 0;        ///< [V, H]; the word embedding itself where it is tied
};

ModelParameters list_parameters(const plan::ModelConfig& model);

/// Columns that fc1 writes: gate and up with SwiGLU.
std::int64_t fc1_features(const plan::ModelConfig& model);

}  // namespace underlap::model
