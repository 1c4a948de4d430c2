// SPDX-License-Identifier: Apache-2.0
// The knobs of number formats and of the optimizer. Names and defaults are those of Megatron-Bridge's
// MixedPrecisionConfig and recipes, and of Megatron Core's OptimizerConfig (sources of 2026-08-22).
#include <array>

#include "impl/plan/slot.hpp"

namespace underlap::plan {
namespace {

constexpr auto kDdp = &Config::ddp;
constexpr auto kPrecision = &Config::mixed_precision;
constexpr auto kOptimizer = &Config::optimizer;

constexpr Range kPositive{0, 1e12, true};
constexpr Range kNotNegative{0, 1e12};
constexpr Range kFraction{0, 1};

using enum Type;
using enum Status;

constexpr std::string_view kPrecisionRecipes =
    "bf16_mixed fp16_mixed bf16_with_fp8_delayed_scaling_mixed fp16_with_fp8_delayed_scaling_mixed "
    "bf16_with_fp8_current_scaling_mixed fp16_with_fp8_current_scaling_mixed "
    "nemotron_h_bf16_with_fp8_current_scaling_mixed nanov2_bf16_with_fp8_current_scaling_mixed "
    "bf16_with_mxfp8_mixed fp16_with_mxfp8_mixed bf16_with_fp8_subchannel_scaling_mixed "
    "fp16_with_fp8_subchannel_scaling_mixed bf16_with_nvfp4_mixed nemotron_3_super_bf16_with_nvfp4_mixed";

constexpr auto kRows = std::to_array<Row>({
    {.path = "mixed_precision.recipe",
     .spellings = "mixed_precision",
     .type = text,
     .status = honoured,
     .listed = true,
     .rule = "bf16_mixed",
     .about = "Types of storage, GEMMs, gathers and reductions",
     .slot = kSlot<kPrecision, &MixedPrecisionConfig::recipe>,
     .choices = kPrecisionRecipes},
    {.path = "mixed_precision.bf16",
     .status = planned,
     .listed = true,
     .fallback = "true",
     .rule = "from the recipe",
     .about = "Training in bf16; with fp8 and fp8_recipe another way to give the recipe"},
    {.path = "mixed_precision.fp16",
     .status = planned,
     .listed = true,
     .fallback = "false",
     .rule = "from the recipe",
     .about = "Training in fp16"},
    {.path = "mixed_precision.fp8",
     .type = text,
     .status = planned,
     .scope = Scope::fp8,
     .listed = true,
     .fallback = "null",
     .rule = "from the recipe",
     .about = "Formats of fp8: E4M3 forward and E5M2 backward, or E4M3 alone",
     .choices = "hybrid e4m3"},
    {.path = "mixed_precision.fp8_recipe",
     .type = text,
     .status = planned,
     .scope = Scope::fp8,
     .listed = true,
     .fallback = "tensorwise",
     .rule = "from the recipe",
     .about = "How fp8 values are scaled",
     .choices = "delayed tensorwise mxfp8 blockwise"},
    {.path = "mixed_precision.fp4",
     .type = text,
     .status = planned,
     .listed = true,
     .fallback = "null",
     .rule = "from the recipe",
     .about = "Format of fp4",
     .choices = "e2m1"},
    {.path = "mixed_precision.fp4_recipe",
     .type = text,
     .status = planned,
     .listed = true,
     .fallback = "nvfp4",
     .rule = "from the recipe",
     .about = "How fp4 values are scaled",
     .choices = "nvfp4"},
    {.path = "mixed_precision.first_last_layers_bf16",
     .status = planned,
     .scope = Scope::fp8,
     .listed = true,
     .fallback = "false",
     .rule = "from the recipe",
     .about = "The first and last layers stay in bf16"},
    {.path = "mixed_precision.num_layers_at_start_in_bf16",
     .type = integer,
     .status = planned,
     .scope = Scope::fp8,
     .listed = true,
     .fallback = "0",
     .rule = "from the recipe",
     .about = "First layers that stay in bf16",
     .range = {0, 1e6}},
    {.path = "mixed_precision.num_layers_at_end_in_bf16",
     .type = integer,
     .status = planned,
     .scope = Scope::fp8,
     .listed = true,
     .fallback = "0",
     .rule = "from the recipe",
     .about = "Last layers that stay in bf16",
     .range = {0, 1e6}},
    {.path = "mixed_precision.grad_reduce_in_fp32",
     .spellings = "ddp.grad_reduce_in_fp32",
     .status = honoured,
     .listed = true,
     .rule = "from the recipe",
     .about = "Gradients accumulate and travel in fp32",
     .slot = kSlot<kDdp, &DdpConfig::grad_reduce_in_fp32>},
    {.path = "mixed_precision.fp8_param_gather",
     .spellings = "mixed_precision.fp8_param ddp.fp8_param_gather",
     .status = planned,
     .scope = Scope::fp8,
     .listed = true,
     .rule = "from the recipe",
     .about = "Parameters are gathered in fp8",
     .slot = kSlot<kPrecision, &MixedPrecisionConfig::fp8_param_gather>},
    {.path = "optimizer.lr",
     .type = number,
     .status = honoured,
     .rule = "0.001",
     .about = "Learning rate",
     .slot = kSlot<kOptimizer, &OptimizerConfig::lr>,
     .range = kPositive},
    {.path = "optimizer.adam_beta1",
     .type = number,
     .status = honoured,
     .rule = "0.9",
     .about = "Decay of the first moment",
     .slot = kSlot<kOptimizer, &OptimizerConfig::adam_beta1>,
     .range = kFraction},
    {.path = "optimizer.adam_beta2",
     .type = number,
     .status = honoured,
     .rule = "0.95",
     .about = "Decay of the second moment",
     .slot = kSlot<kOptimizer, &OptimizerConfig::adam_beta2>,
     .range = kFraction},
    {.path = "optimizer.adam_eps",
     .type = number,
     .status = honoured,
     .rule = "1e-08",
     .about = "Added to the root of the second moment",
     .slot = kSlot<kOptimizer, &OptimizerConfig::adam_eps>,
     .range = kPositive},
    {.path = "optimizer.weight_decay",
     .type = number,
     .status = honoured,
     .rule = "0",
     .about = "Decoupled weight decay",
     .slot = kSlot<kOptimizer, &OptimizerConfig::weight_decay>,
     .range = kNotNegative},
    {.path = "optimizer.clip_grad",
     .type = number,
     .status = honoured,
     .rule = "0: no clipping",
     .about = "Bound of the gradient norm; 0: no clipping",
     .slot = kSlot<kOptimizer, &OptimizerConfig::clip_grad>,
     .range = kNotNegative},
    {.path = "optimizer.use_precision_aware_optimizer",
     .status = planned,
     .fallback = "false",
     .rule = "Megatron Core: false",
     .about = "Of main parameters the optimizer keeps the 16 bits that bf16 parameters lack: planned for its memory",
     .slot = kSlot<kOptimizer, &OptimizerConfig::use_precision_aware_optimizer>},
});

}  // namespace

std::span<const Row> numerics_rows() { return kRows; }

}  // namespace underlap::plan
