// SPDX-License-Identifier: Apache-2.0
// Shapes from the models' own configurations on Hugging Face (Llama 3, Llama 3.1, Nemotron-4 340B) and from NeMo 2.x
// (GPTConfig20B, GPTConfig175B, Nemotron4Config15B). Two choices are ours: Llama's seq_length is 8192, the length of
// nearly all of its training, and GPT-3's 50257 tokens are padded to 51200 as Megatron does for 8 TP ranks. Norms,
// biases, positions and activations are those of Megatron-Bridge's providers, but that gamma is not zero-centred
// (layernorm_zero_centered_gamma of GPT-3 175B and Nemotron): that moves no byte, and weights begin with the same
// values. `tiny` is sized so that two ranks on two CPU cores take some tens of milliseconds a step.
#include "impl/plan/presets.hpp"

#include <algorithm>
#include <array>

#include "impl/plan/plan.hpp"

namespace underlap::plan {
namespace {

using enum Activation;
using enum Normalization;
using enum PositionEmbedding;

constexpr auto kPresets = std::to_array<Preset>({
    // name, layers, hidden, ffn, heads, groups, vocabulary, sequence, tied, activation, positions, norms, biases, base,
    // percent
    {"gpt3-175b", 96, 12288, 49152, 96, 96, 51200, 2048, true, gelu, learned_absolute, layer_norm, true},
    {"gpt3-20b", 44, 6144, 24576, 48, 48, 51200, 2048, true, gelu, learned_absolute, layer_norm, true},
    {"llama3-70b", 80, 8192, 28672, 64, 8, 128256, 8192, false, swiglu, rope, rms_norm, false, 500'000},
    {"llama3-8b", 32, 4096, 14336, 32, 8, 128256, 8192, false, swiglu, rope, rms_norm, false, 500'000},
    {"llama3.1-405b", 126, 16384, 53248, 128, 8, 128256, 8192, false, swiglu, rope, rms_norm, false, 500'000},
    {"nemotron4-15b", 32, 6144, 24576, 48, 8, 256000, 4096, false, squared_relu, rope, layer_norm, false, 10'000, 0.5},
    {"nemotron4-340b", 96, 18432, 73728, 96, 8, 256000, 4096, false, squared_relu, rope, layer_norm, false, 10'000,
     0.5},
    {"tiny", 4, 128, 384, 4, 2, 256, 128, false, swiglu, learned_absolute, rms_norm, false},
});

}  // namespace

std::span<const Preset> presets() { return kPresets; }

std::optional<ModelConfig> find_preset(std::string_view name) {
  const auto* found = std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == name; });
  if (found == kPresets.end()) return std::nullopt;
  ModelConfig model;
  model.preset = name;
  model.num_layers = found->num_layers;
  model.hidden_size = found->hidden_size;
  model.ffn_hidden_size = found->ffn_hidden_size;
  model.num_attention_heads = found->num_attention_heads;
  model.num_query_groups = found->num_query_groups;
  model.vocab_size = found->vocab_size;
  model.seq_length = found->seq_length;
  model.share_embeddings_and_output_weights = found->share_embeddings_and_output_weights;
  model.activation = found->activation;
  model.position_embedding_type = found->position_embedding_type;
  model.normalization = found->normalization;
  model.add_bias_linear = found->add_bias_linear;
  model.rotary_base = found->rotary_base;
  model.rotary_percent = found->rotary_percent;
  return model;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace underlap::plan
