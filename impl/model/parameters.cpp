// SPDX-License-Identifier: Apache-2.0
#include "impl/model/parameters.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace underlap::model {

std::int64_t fc1_features(const plan::ModelConfig& model) {
  return model.activation == plan::Activation::swiglu ? 2 * model.ffn_hidden_size : model.ffn_hidden_size;
}

ModelParameters list_parameters(const plan::ModelConfig& model) {
  ModelParameters result;
  const auto add = [&](std::string name, std::int64_t rows, std::int64_t cols, std::int32_t layer) {
    result.all.push_back({.name = std::move(name), .rows = rows, .cols = cols, .layer = layer});
    return static_cast<std::int32_t>(result.all.size() - 1);
  };
  const std::int64_t h = model.hidden_size;
  const std::int64_t attention = model.num_attention_heads * model.head_size();
  const std::int64_t packed = attention + 2 * model.num_query_groups * model.head_size();
  result.word_embedding = add("word_embedding", model.vocab_size, h, -1);
  result.position_embedding = add("position_embedding", model.seq_length, h, -1);
  for (std::int32_t i = 0; i < model.num_layers; ++i) {
    const std::string prefix = fmt::format("layer{}.", i);
    LayerParameters& layer = result.layers.emplace_back();
    layer.attention_norm = add(prefix + "attention_norm", 1, h, i);
    layer.qkv = add(prefix + "qkv", packed, h, i);
    layer.proj = add(prefix + "proj", h, attention, i);
    layer.mlp_norm = add(prefix + "mlp_norm", 1, h, i);
    layer.fc1 = add(prefix + "fc1", fc1_features(model), h, i);
    layer.fc2 = add(prefix + "fc2", h, model.ffn_hidden_size, i);
  }
  result.final_norm = add("final_norm", 1, h, -1);
  if (!model.share_embeddings_and_output_weights) {
    result.head = add("head", model.vocab_size, h, -1);
    return result;
  }
  result.head = result.word_embedding;
  dp::Parameter& tied = result.all[static_cast<std::size_t>(result.word_embedding)];
  tied.num_wgrads = 2;
  tied.shared_embedding = true;
  return result;
}

}  // namespace underlap::model
