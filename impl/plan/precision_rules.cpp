// SPDX-License-Identifier: Apache-2.0
// What a mixed-precision recipe of Megatron-Bridge implies for the wire: type of gradients and of gathered parameters.
#include <fmt/format.h>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kGradsFp32 = "mixed_precision.grad_reduce_in_fp32";
constexpr std::string_view kGatherFp8 = "mixed_precision.fp8_param_gather";
constexpr std::string_view kReuse = "ddp.reuse_grad_buf_for_mxfp8_param_ag";

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void decide_by_recipe(Resolution& r, std::string_view path, bool by_recipe, bool& field) {
  if (r.settings.given(path)) return;
  field = by_recipe;
  r.decide(path, {by_recipe ? "true" : "false", "auto", fmt::format("recipe {}", r.config().mixed_precision.recipe)});
}

void check_mxfp8(Resolution& r) {
  const bool gathers_fp8 = r.config().mixed_precision.fp8_param_gather;
  const bool reuse = r.settings.flag(kReuse, gathers_fp8);
  if (!r.settings.given(kReuse)) r.decide(kReuse, {gathers_fp8 ? "true" : "false", "auto", "follows fp8_param_gather"});
  if (reuse != gathers_fp8)
    r.error({kReuse, kGatherFp8},
            fmt::format("{} must equal fp8_param_gather under an mxfp8 recipe; leave it out to follow", kReuse));
}

}  // namespace

void apply_precision_rules(Resolution& r) {
  MixedPrecisionConfig& precision = r.config().mixed_precision;
  const std::string& recipe = precision.recipe;
  const bool is_fp8 = contains(recipe, "fp8");
  decide_by_recipe(r, kGradsFp32, !recipe.starts_with("fp16"), r.config().ddp.grad_reduce_in_fp32);
  decide_by_recipe(r, kGatherFp8, is_fp8 && !contains(recipe, "subchannel"), precision.fp8_param_gather);
  if (precision.fp8_param_gather && !is_fp8)
    r.error({kGatherFp8}, fmt::format("fp8_param_gather needs an fp8 recipe, not {}; set mixed_precision.recipe to "
                                      "bf16_with_fp8_current_scaling_mixed, or leave fp8_param_gather out",
                                      recipe));
  if (contains(recipe, "mxfp8")) check_mxfp8(r);
}

}  // namespace underlap::plan
