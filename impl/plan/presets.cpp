// SPDX-License-Identifier: Apache-2.0
// Shapes from the models' own configurations on Hugging Face (Llama 3, Llama 3.1, Nemotron-4 340B) and from NeMo 2.x
// (GPTConfig20B, GPTConfig175B, Nemotron4Config15B). Two choices are ours: Llama's seq_length is 8192, the length of
// nearly all of its training, and GPT-3's 50257 tokens are padded to 51200 as Megatron does for 8 TP ranks. Norms,
// biases, positions and activations are those of Megatron-Bridge's providers, but that gamma is not zero-centered
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

}  // namespace

std::span<const ModelConfig> presets() {
  static const std::vector<ModelConfig> instance{
      // name, layers, hidden, ffn, heads, groups, features of a head, vocabulary, sequence, tied, activation,
      // positions, base, percent, biases, biases of qkv, norms
      {"gpt3-175b", 96, 12288, 49152, 96, 96, 0, 51200, 2048, true, gelu, learned_absolute, 10'000, 1, true, false,
       layer_norm},
      {"gpt3-20b", 44, 6144, 24576, 48, 48, 0, 51200, 2048, true, gelu, learned_absolute, 10'000, 1, true, false,
       layer_norm},
      {"llama3-70b", 80, 8192, 28672, 64, 8, 0, 128256, 8192, false, swiglu, rope, 500'000},
      {"llama3-8b", 32, 4096, 14336, 32, 8, 0, 128256, 8192, false, swiglu, rope, 500'000},
      {"llama3.1-405b", 126, 16384, 53248, 128, 8, 0, 128256, 8192, false, swiglu, rope, 500'000},
      {"nemotron4-15b", 32, 6144, 24576, 48, 8, 0, 256000, 4096, false, squared_relu, rope, 10'000, 0.5, false, false,
       layer_norm},
      {"nemotron4-340b", 96, 18432, 73728, 96, 8, 0, 256000, 4096, false, squared_relu, rope, 10'000, 0.5, false, false,
       layer_norm},
      {"tiny", 4, 128, 384, 4, 2, 0, 256, 128},
  };
  return instance;
}

const ModelConfig* find_preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &ModelConfig::preset);
  return found == presets().end() ? nullptr : &*found;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelConfig& model : presets()) names.push_back(model.preset);
  return names;
}

}  // namespace underlap::plan
