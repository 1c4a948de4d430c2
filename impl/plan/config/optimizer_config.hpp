// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace underlap::plan {

/// Layers at the ends of a model.
struct EdgeLayers {
  std::int32_t at_start = 0, at_end = 0;
};

/// The parts of the precision recipe that are not in DdpConfig. The meaning of its name: impl/plan/precision.hpp.
struct MixedPrecisionConfig {
  std::string recipe = "bf16_mixed";
  bool fp8_param_gather = false;
  bool fp4_param_gather = false;
  std::optional<EdgeLayers> layers_in_bf16;  ///< nullopt: the recipe's
};

struct OptimizerConfig {
  double lr = 1e-3;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_eps = 1e-8;
  double weight_decay = 0.0;
  double clip_grad = 0.0;                                 ///< bound of the gradient norm; 0: no clipping
  bool overlap_param_gather_with_optimizer_step = false;  ///< the first chunk is gathered while the others are updated
  bool use_precision_aware_optimizer = false;  ///< main parameters without the bits that bf16 parameters have already
};

}  // namespace underlap::plan
