// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/fp8_weights.hpp"

#include "impl/plan/precision.hpp"

namespace underlap::plan {

bool multiplies_in_fp8(const Config& config, std::int32_t layer) {
  return scaling_of(config) == Scaling::tensorwise && is_in_low_precision(config, layer);
}

bool gathers_fp8_weights(const Config& config) {
  return config.mixed_precision.fp8_param_gather && config.ddp.use_distributed_optimizer;
}

void mark_fp8_weights(ModelParameters& parameters, const Config& config) {
  if (!gathers_fp8_weights(config)) return;
  for (const LayerParameters& layer : parameters.layers)
    for (const std::int32_t p : {layer.qkv, layer.proj, layer.fc1, layer.fc2}) {
      Parameter& weight = parameters.all[static_cast<std::size_t>(p)];
      weight.is_fp8 = multiplies_in_fp8(config, weight.layer);
    }
}

}  // namespace underlap::plan
