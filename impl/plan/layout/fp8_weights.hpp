// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/layout/parameters.hpp"

namespace underlap::plan {

struct Config;

/// Whether the linear layers of layer `layer` multiply in fp8, with one scale per tensor from its own values. Under the
/// current-scaling recipe all layers do, except the first and last layers that first_last_layers_bf16 keeps in bf16 (by
/// default one at each end). Embedding, norms and head never do. Source: Megatron-Bridge's
/// bf16_with_fp8_current_scaling_mixed.
bool multiplies_in_fp8(const Config& config, std::int32_t layer);

/// Whether such layers' weights are stored and gathered in fp8: fp8_param_gather, with the distributed optimizer.
bool gathers_fp8_weights(const Config& config);

/// Marks the weights that are stored and gathered in fp8.
void mark_fp8_weights(ModelParameters& parameters, const Config& config);

}  // namespace underlap::plan
