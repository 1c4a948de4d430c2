// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/precision.hpp"

#include <algorithm>
#include <iterator>

#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The part of a recipe's name for each way of scaling.
struct NamedScaling {
  std::string_view in_name;
  Scaling scaling;
};
constexpr NamedScaling kScalings[] = {
    {"nanov2_bf16_with_fp8_current_scaling", Scaling::blockwise},  // in spite of its name
    {"fp8_delayed_scaling", Scaling::delayed},
    {"fp8_current_scaling", Scaling::tensorwise},
    {"mxfp8", Scaling::mxfp8},
    {"fp8_subchannel_scaling", Scaling::blockwise},
    {"nvfp4", Scaling::nvfp4}};

struct NamedEdge {
  std::string_view in_name;
  EdgeLayers layers;
};
constexpr NamedEdge kEdges[] = {{"nemotron_3_super_bf16_with_nvfp4", {0, 14}},
                                {"nemotron_h_bf16_with_fp8_current_scaling", {2, 2}},
                                {"nanov2_bf16_with_fp8_current_scaling", {2, 2}},
                                {"fp8_current_scaling", {1, 1}}};

constexpr double kScaleOf32Bits = 4, kScaleOf8Bits = 1;

}  // namespace

Scaling scaling_of(std::string_view recipe) {
  const auto* found =
      std::ranges::find_if(kScalings, [&](const NamedScaling& s) { return contains(recipe, s.in_name); });
  return found == std::end(kScalings) ? Scaling::none : found->scaling;
}

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

EdgeLayers layers_in_bf16(std::string_view recipe) {
  const auto* found = std::ranges::find_if(kEdges, [&](const NamedEdge& e) { return contains(recipe, e.in_name); });
  return found == std::end(kEdges) ? EdgeLayers{} : found->layers;
}

bool is_in_low_precision(const Config& config, std::int32_t layer) {
  const MixedPrecisionConfig& precision = config.mixed_precision;
  if (scaling_of(config) == Scaling::none) return false;
  const EdgeLayers edge = precision.layers_in_bf16.value_or(layers_in_bf16(precision.recipe));
  return layer >= edge.at_start && layer + edge.at_end < config.model.num_layers;
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
  switch (scaling) {
    case Scaling::none: return false;
    case Scaling::delayed:
    case Scaling::tensorwise: return architecture_of(gpu_arch) < 100;
    case Scaling::blockwise:
    case Scaling::mxfp8:
    case Scaling::nvfp4: return true;
  }
  return false;
}

bool gathers_in_low_precision(const Config& config) {
  const MixedPrecisionConfig& precision = config.mixed_precision;
  return scaling_of(config) == Scaling::nvfp4 ? precision.fp4_param_gather : precision.fp8_param_gather;
}

}  // namespace underlap::plan
