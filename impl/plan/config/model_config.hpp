// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace underlap::plan {

enum class Activation : std::uint8_t { swiglu, gelu, squared_relu };
enum class PositionEmbedding : std::uint8_t { learned_absolute, rope, yarn, mrope, none };
enum class Normalization : std::uint8_t { rms_norm, layer_norm };

/// The transformer. Field names are Megatron's.
struct ModelConfig {
  std::string preset;  ///< empty: every field was given
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t ffn_hidden_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_query_groups = 0;  ///< key/value heads
  std::int64_t kv_channels = 0;       ///< features of a head; 0: hidden_size / num_attention_heads
  std::int64_t vocab_size = 0;
  std::int64_t seq_length = 0;
  bool share_embeddings_and_output_weights = false;
  Activation activation = Activation::swiglu;
  PositionEmbedding position_embedding_type = PositionEmbedding::learned_absolute;
  double rotary_base = 10'000;   ///< of the frequencies of rope
  double rotary_percent = 1;     ///< of each head's features that rope turns
  bool add_bias_linear = false;  ///< of qkv, proj, fc1 and fc2
  bool add_qkv_bias = false;     ///< of qkv, whatever the others have
  Normalization normalization = Normalization::rms_norm;
  bool deterministic_mode = false;  ///< cuda: attention's backward adds in one order
  // What follows is planned for its memory: Underlap's own kernels are fused.
  bool cross_entropy_loss_fusion = true;
  std::string cross_entropy_fusion_impl = "native";  ///< "native": Megatron Core's, or "te": Transformer Engine's
  bool parallel_output = true;                       ///< a tensor-parallel rank has its share of the logits
  bool bias_activation_fusion = true;
  bool norm_fusion = true;

  std::int64_t head_size() const { return kv_channels > 0 ? kv_channels : hidden_size / num_attention_heads; }
  /// Whether queries and keys are turned: yarn and mrope do as rope, by other angles.
  bool is_rotary() const {
    return position_embedding_type != PositionEmbedding::learned_absolute &&
           position_embedding_type != PositionEmbedding::none;
  }
  bool has_qkv_bias() const { return add_bias_linear || add_qkv_bias; }
  /// Features of a head that are turned, in pairs.
  std::int64_t rotary_features() const {
    return static_cast<std::int64_t>(static_cast<double>(head_size()) * rotary_percent);
  }
};

}  // namespace underlap::plan
