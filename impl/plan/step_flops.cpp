// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/step_flops.hpp"

#include <algorithm>

#include "impl/plan/config.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

constexpr EnumNames<FlopConvention, 4> kNames{{"full", "causal", "full+recompute", "causal+recompute"}};

bool is_causal(FlopConvention convention) {
  return convention == FlopConvention::causal || convention == FlopConvention::causal_recompute;
}

bool counts_recomputation(FlopConvention convention) {
  return convention == FlopConvention::full_recompute || convention == FlopConvention::causal_recompute;
}

// Recomputed layers of the whole model.
double recomputed_layers(const Config& config) {
  const auto layers = static_cast<double>(config.model.num_layers);
  if (config.recompute.method == RecomputeMethod::none) return 0;
  if (config.recompute.method == RecomputeMethod::uniform) return layers;
  return std::min(layers, static_cast<double>(config.parallel.num_chunks()) * config.recompute.num_layers);
}

// FLOPs of one layer's forward pass, per token.
double layer_flops(const ModelConfig& model, bool causal) {
  const auto hidden = static_cast<double>(model.hidden_size), ffn = static_cast<double>(model.ffn_hidden_size);
  const auto head = static_cast<double>(model.head_size());
  const double attention = double(model.num_attention_heads) * head, kv = double(model.num_query_groups) * head;
  const double up = model.activation == Activation::swiglu ? 2 : 1;
  const auto sequence = static_cast<double>(model.seq_length);
  const double products = 2 * hidden * (attention + 2 * kv + attention + (up + 1) * ffn);
  return products + (causal ? 2 * attention * (sequence + 1) : 4 * attention * sequence);
}

}  // namespace

std::string_view to_string(FlopConvention convention) { return kNames[convention]; }
std::optional<FlopConvention> flop_convention(std::string_view word) { return kNames.find(word); }

double step_tokens(const Config& config) {
  return double(config.train.micro_batch_size) * double(config.train.num_microbatches) *
         double(config.parallel.data_parallel_size) * double(config.model.seq_length);
}

double step_flops(const Config& config, FlopConvention convention) {
  constexpr double kPasses = 3;
  const ModelConfig& model = config.model;
  const double of_layer = layer_flops(model, is_causal(convention));
  const double again = counts_recomputation(convention) ? recomputed_layers(config) : 0;
  const double head = 2 * double(model.hidden_size) * double(model.vocab_size);
  return step_tokens(config) * ((kPasses * double(model.num_layers) + again) * of_layer + kPasses * head);
}

}  // namespace underlap::plan
