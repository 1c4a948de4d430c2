// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "impl/plan/config/model_config.hpp"

namespace underlap::plan {

/// A published model shape.
struct Preset {
  std::string_view name;
  std::int64_t num_layers, hidden_size, ffn_hidden_size, num_attention_heads, num_query_groups, vocab_size, seq_length;
  bool share_embeddings_and_output_weights;
  Activation activation;
  PositionEmbedding position_embedding_type;
  Normalization normalization;
  bool add_bias_linear;
  double rotary_base = 10'000, rotary_percent = 1;
};

/// All presets, sorted by name.
std::span<const Preset> presets();

/// The shape of preset `name`; nothing if there is no such preset.
std::optional<ModelConfig> find_preset(std::string_view name);

}  // namespace underlap::plan
