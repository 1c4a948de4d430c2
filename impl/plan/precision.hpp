// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "impl/plan/config.hpp"

namespace underlap::plan {

/// How a recipe scales what it multiplies in fewer than 16 bits.
enum class Scaling : std::uint8_t {
  none,        ///< nothing: products are in 16 bits
  delayed,     ///< fp8, a scale for a tensor, from the steps before
  tensorwise,  ///< fp8, a scale for a tensor, from its own values
  blockwise,   ///< fp8, a scale for each 128 values of an input and each 128 x 128 of a weight
  mxfp8,       ///< fp8, a scale for each 32 values
  nvfp4,       ///< fp4, a scale for each 16 values
};

/// The only place that derives the scaling from a recipe's name.
Scaling scaling_of(std::string_view recipe);
inline Scaling scaling_of(const Config& config) { return scaling_of(config.mixed_precision.recipe); }

/// The word of mixed_precision.fp8_recipe; "" where the recipe has no fp8.
std::string_view to_word(Scaling scaling);

constexpr bool is_fp8(Scaling scaling) { return scaling != Scaling::none && scaling != Scaling::nvfp4; }

/// Layers that the recipe keeps in bf16.
EdgeLayers layers_in_bf16(std::string_view recipe);

/// Whether the linear layers of layer `layer` multiply in fewer than 16 bits. Embedding, norms and head never do.
bool is_in_low_precision(const Config& config, std::int32_t layer);

/// Whether the linear layers of layer `layer` multiply in fp8, with one scale per tensor from its own values. Under the
/// current-scaling recipe all layers do, except the first and last layers that first_last_layers_bf16 keeps in bf16 (by
/// default one at each end). Embedding, norms and head never do. Source: Megatron-Bridge's
/// bf16_with_fp8_current_scaling_mixed.
bool multiplies_in_fp8(const Config& config, std::int32_t layer);

/// Whether such layers' weights are stored and gathered in fp8: fp8_param_gather, with the distributed optimizer.
bool gathers_fp8_weights(const Config& config);

/// Bytes of a value of a product's input, and of a weight, with their part of the scales. 2 without scaling.
double input_bytes(Scaling scaling);
double weight_bytes(Scaling scaling);

/// Whether a weight is held twice, the second time for the products that read it across. Blackwell's tensor cores read
/// fp8 with one scale for a tensor either way; blocks are scaled along what is summed over, so both ways differ.
/// Source: Transformer Engine, is_non_tn_fp8_gemm_supported and its quantized tensors.
bool holds_weights_twice(Scaling scaling, std::string_view gpu_arch);

/// Whether parameters are gathered in the recipe's own format, so that no rank holds them in bf16.
bool gathers_in_low_precision(const Config& config);

}  // namespace underlap::plan
