// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/precision.hpp"

#include <span>
#include <utility>

#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

template <class Value>
using NamedPart = std::pair<std::string_view, Value>;

constexpr NamedPart<Scaling> kScalings[] = {
    {"nanov2_bf16_with_fp8_current_scaling", Scaling::blockwise},  // in spite of its name
    {"fp8_delayed_scaling", Scaling::delayed},
    {"fp8_current_scaling", Scaling::tensorwise},
    {"mxfp8", Scaling::mxfp8},
    {"fp8_subchannel_scaling", Scaling::blockwise},
    {"nvfp4", Scaling::nvfp4}};
constexpr NamedPart<EdgeLayers> kEdges[] = {{"nemotron_3_super_bf16_with_nvfp4", {0, 14}},
                                            {"nemotron_h_bf16_with_fp8_current_scaling", {2, 2}},
                                            {"nanov2_bf16_with_fp8_current_scaling", {2, 2}},
                                            {"fp8_current_scaling", {1, 1}}};

/// The value of the first part that `recipe` has in its name.
template <class Value>
Value by_name(std::span<const NamedPart<Value>> parts, std::string_view recipe) {
  for (const auto& [part, value] : parts)
    if (recipe.find(part) != recipe.npos) return value;
  return {};
}

constexpr double kScaleOf32Bits = 4, kScaleOf8Bits = 1;

}  // namespace

Scaling scaling_of(std::string_view recipe) { return by_name<Scaling>(kScalings, recipe); }

std::string_view to_word(Scaling scaling) {
  switch (scaling) {
    case Scaling::delayed: return "delayed";
    case Scaling::tensorwise: return "tensorwise";
    case Scaling::blockwise: return "blockwise";
    case Scaling::mxfp8: return "mxfp8";
    case Scaling::nvfp4:
    case Scaling::none: break;
  }
  return "";
}

EdgeLayers layers_in_bf16(std::string_view recipe) { return by_name<EdgeLayers>(kEdges, recipe); }

bool is_in_low_precision(const Config& config, std::int32_t layer) {
  const MixedPrecisionConfig& precision = config.mixed_precision;
  if (scaling_of(config) == Scaling::none) return false;
  const EdgeLayers edge = precision.layers_in_bf16.value_or(layers_in_bf16(precision.recipe));
  return layer >= edge.at_start && layer + edge.at_end < config.model.num_layers;
}

bool multiplies_in_fp8(const Config& config, std::int32_t layer) {
  return scaling_of(config) == Scaling::tensorwise && is_in_low_precision(config, layer);
}

bool gathers_fp8_weights(const Config& config) {
  return config.mixed_precision.fp8_param_gather && config.ddp.use_distributed_optimizer;
}

double input_bytes(Scaling scaling) {
  switch (scaling) {
    case Scaling::none: return 2;
    case Scaling::delayed:
    case Scaling::tensorwise: return 1;
    case Scaling::blockwise: return 1 + kScaleOf32Bits / 128;
    case Scaling::mxfp8: return 1 + kScaleOf8Bits / 32;
    case Scaling::nvfp4: return 0.5 + kScaleOf8Bits / 16;
  }
  return 2;
}

double weight_bytes(Scaling scaling) {
  return scaling == Scaling::blockwise ? 1 + kScaleOf32Bits / (128 * 128) : input_bytes(scaling);
}

bool holds_weights_twice(Scaling scaling, std::string_view gpu_arch) {
  if (scaling == Scaling::delayed || scaling == Scaling::tensorwise) return architecture_of(gpu_arch) < 100;
  return scaling != Scaling::none;
}

bool gathers_in_low_precision(const Config& config) {
  const MixedPrecisionConfig& precision = config.mixed_precision;
  return scaling_of(config) == Scaling::nvfp4 ? precision.fp4_param_gather : precision.fp8_param_gather;
}

}  // namespace underlap::plan
