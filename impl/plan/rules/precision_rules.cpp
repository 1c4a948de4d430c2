// SPDX-License-Identifier: Apache-2.0
// Implications of Megatron-Bridge's mixed-precision recipes: formats and scaling, and the communicated types of
// gradients and gathered parameters. A recipe may also be given as in a dump of Bridge, by its fields.
#include <fmt/format.h>

#include <utility>

#include "impl/plan/precision.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kRecipe = "mixed_precision.recipe";
constexpr std::string_view kBf16 = "mixed_precision.bf16";
constexpr std::string_view kFp16 = "mixed_precision.fp16";
constexpr std::string_view kFp8 = "mixed_precision.fp8";
constexpr std::string_view kScaling = "mixed_precision.fp8_recipe";
constexpr std::string_view kFp4 = "mixed_precision.fp4";
constexpr std::string_view kGradsFp32 = "mixed_precision.grad_reduce_in_fp32";
constexpr std::string_view kGatherFp8 = "mixed_precision.fp8_param_gather";
constexpr std::string_view kGatherFp4 = "ddp.fp4_param_gather";

/// The recipe that matches a dump's fields.
std::string recipe_of_fields(const Resolution& r) {
  const std::string base = r.settings.flag(kFp16, false) ? "fp16" : "bf16";
  if (r.settings.given(kFp4)) return "bf16_with_nvfp4_mixed";
  if (!r.settings.given(kFp8)) return base + "_mixed";
  const std::string word = r.settings.text(kScaling, "tensorwise");
  if (word == "blockwise" && r.settings.flag("mixed_precision.first_last_layers_bf16", false))
    return "nanov2_bf16_with_fp8_current_scaling_mixed";
  for (const std::string_view part : {"fp8_delayed_scaling", "fp8_current_scaling", "mxfp8", "fp8_subchannel_scaling"})
    if (to_word(scaling_of(part)) == word) return fmt::format("{}_with_{}_mixed", base, part);
  return base + "_mixed";
}

void decide_recipe(Resolution& r) {
  if (r.settings.given(kRecipe) || r.settings.invalid(kRecipe)) return;
  std::string& recipe = r.config().mixed_precision.recipe;
  recipe = recipe_of_fields(r);
  for (const std::string_view path : {kFp4, kFp8, kFp16})
    if (r.settings.given(path) && recipe != "bf16_mixed")
      return r.decide(kRecipe, {recipe, "user", "from the fields of mixed_precision, " + r.set_at(path)});
}

/// A field that follows from the recipe. In Bridge, an explicit field overrides the recipe.
void decide_field(Resolution& r, std::string_view field, const Value& by_recipe) {
  const std::string path = fmt::format("mixed_precision.{}", field);
  const bool is_spelled_out = r.settings.is_dump && r.settings[path].value == by_recipe;
  if (!r.settings.given(path) || is_spelled_out)
    return r.decide(path, {by_recipe, "auto", fmt::format("recipe {}", r.config().mixed_precision.recipe)});
  r.decide(path, {r.settings[path].value, "user", r.set_at(path)});
}

/// A field that defines the recipe: another value together with the recipe's name is a contradiction.
void decide_format(Resolution& r, std::string_view field, const Value& by_recipe) {
  const std::string path = fmt::format("mixed_precision.{}", field);
  const Value& requested = r.settings[path].value;
  decide_field(r, field, by_recipe);
  if (r.settings.given(path) && requested != by_recipe && r.settings.given(kRecipe))
    r.error({path}, fmt::format("{} is {}, but recipe {} has {}; leave one of them out", path, to_json_text(requested),
                                r.config().mixed_precision.recipe, to_json_text(by_recipe)));
}

Value word_or_null(std::string_view word) { return word.empty() ? Value() : Value(std::string(word)); }

/// Megatron Core stops if more layers are in bf16 than the first or last stage has. Here it computes the stage's layers
/// as num_layers over the pipeline's size, ignoring chunks and uneven stages.
void check_edge_layers(Resolution& r) {
  const std::int64_t of_stage = r.config().model.num_layers / r.config().parallel.num_stages();
  if (r.decisions.at(row_index("mixed_precision.first_last_layers_bf16")).effective != Value(true)) return;
  for (const std::string_view end : {"start", "end"}) {
    const std::string path = fmt::format("mixed_precision.num_layers_at_{}_in_bf16", end);
    const auto& effective = r.decisions.at(row_index(path)).effective;
    const auto* count = std::get_if<std::int64_t>(&effective);
    if (count != nullptr && *count > of_stage && r.config().model.num_layers > 0)
      r.error({path, kRecipe, "model.num_layers"}, fmt::format("{} is {}, more than the {} layers of a pipeline stage, "
                                                               "which is Megatron Core's limit; lower it, or lower {}",
                                                               path, *count, of_stage, last_component(kPp)));
  }
}

std::int32_t effective_layers(const Resolution& r, std::string_view path) {
  const auto* count = std::get_if<std::int64_t>(&r.decisions.at(row_index(path)).effective);
  return count == nullptr ? 0 : static_cast<std::int32_t>(*count);
}

void decide_edge_layers(Resolution& r, const std::string& recipe) {
  const EdgeLayers edge = layers_in_bf16(recipe);
  const bool keeps = edge.at_start > 0 || edge.at_end > 0;
  const std::pair<std::string_view, Value> fields[] = {{"first_last_layers_bf16", keeps},
                                                       {"num_layers_at_start_in_bf16", std::int64_t{edge.at_start}},
                                                       {"num_layers_at_end_in_bf16", std::int64_t{edge.at_end}}};
  for (const auto& [field, by_recipe] : fields) decide_field(r, field, by_recipe);
  check_edge_layers(r);
  const bool are_kept = r.decisions.at(row_index("mixed_precision.first_last_layers_bf16")).effective == Value(true);
  r.config().mixed_precision.layers_in_bf16 =
      are_kept ? EdgeLayers{effective_layers(r, "mixed_precision.num_layers_at_start_in_bf16"),
                            effective_layers(r, "mixed_precision.num_layers_at_end_in_bf16")}
               : EdgeLayers{};
}

void decide_fields(Resolution& r, const std::string& recipe) {
  const Scaling scaling = scaling_of(recipe);
  const bool is_fp4 = scaling == Scaling::nvfp4;
  const bool is_fp16 = recipe.starts_with("fp16");
  if (is_fp16 || r.settings.given("mixed_precision.bf16")) decide_format(r, "bf16", !is_fp16);
  if (is_fp16 || r.settings.given(kFp16)) decide_format(r, "fp16", is_fp16);
  if (is_fp4 || r.settings.given(kFp4)) {
    decide_format(r, "fp4", word_or_null(is_fp4 ? "e2m1" : ""));
    decide_format(r, "fp4_recipe", word_or_null(is_fp4 ? "nvfp4" : ""));
  }
  if (!is_fp8(scaling) && !r.settings.given(kFp8)) {
    if (is_fp4) decide_edge_layers(r, recipe);
    return;
  }
  decide_format(r, "fp8", word_or_null(!is_fp8(scaling) ? "" : scaling == Scaling::mxfp8 ? "e4m3" : "hybrid"));
  decide_format(r, "fp8_recipe", word_or_null(to_word(scaling)));
  decide_edge_layers(r, recipe);
}

void decide_by_recipe(Resolution& r, std::string_view path, bool by_recipe, bool& field) {
  if (r.settings.given(path)) return;
  field = by_recipe;
  r.decide(path, {by_recipe, "auto", fmt::format("recipe {}", r.config().mixed_precision.recipe)});
}

/// Checks that Megatron Core makes on the fields of any recipe.
void check_fields(Resolution& r, Scaling scaling) {
  constexpr std::string_view kEdges = "mixed_precision.first_last_layers_bf16";
  if (scaling == Scaling::delayed && r.settings.flag(kEdges, false))
    r.error({kEdges}, fmt::format("{} is incompatible with delayed scaling: Megatron Core rejects it; set it to false, "
                                  "or choose another recipe",
                                  kEdges));
  if (scaling != Scaling::mxfp8 && r.settings.flag(kReuse, false) && !in_scope(Scope::fsdp, r) &&
      !r.config().mixed_precision.fp8_param_gather)
    r.error({kReuse}, fmt::format("{} needs fp8_param_gather: Megatron Core's DDP reuses gradient buffers only for "
                                  "parameters kept in mxfp8; leave it out",
                                  kReuse));
}

/// The recipe reuses the gradients' buffer, whether or not parameters are gathered in mxfp8. Megatron-FSDP has no such
/// buffer, so that Bridge disables the reuse.
void check_mxfp8(Resolution& r) {
  if (in_scope(Scope::fsdp, r))
    return r.decide(kReuse, {false, r.settings.flag(kReuse, false) ? "gate" : "auto",
                             "ddp.use_megatron_fsdp is true, and Megatron-FSDP gathers without it"});
  const bool gathers_fp8 = r.config().mixed_precision.fp8_param_gather;
  const bool reuse = r.settings.flag(kReuse, true);
  if (!r.settings.given(kReuse))
    r.decide(kReuse, {true, "auto", fmt::format("recipe {}", r.config().mixed_precision.recipe)});
  if (reuse != gathers_fp8)
    r.error({kReuse, kGatherFp8}, fmt::format("{} is {} and fp8_param_gather is {}: Megatron-Bridge accepts an mxfp8 "
                                              "recipe with both or neither; make them agree",
                                              kReuse, reuse, gathers_fp8));
}

}  // namespace

/// Megatron-LM without --bf16, and a recipe with neither format.
void warn_about_fp32(Resolution& r) {
  if (!r.settings.given(kBf16) || r.settings.given(kRecipe) || r.settings.given(kFp8) || r.settings.given(kFp4)) return;
  if (r.settings.flag(kBf16, true) || r.settings.flag(kFp16, false)) return;
  r.notice({kBf16},
           "neither bf16 nor fp16 is true, so Megatron trains in fp32, which is not supported: bf16_mixed is planned "
           "instead, with parameters and activations of half as many bytes");
}

void apply_precision_rules(Resolution& r) {
  warn_about_fp32(r);
  if (r.settings.flag(kBf16, false) && r.settings.flag(kFp16, false))
    r.error({kFp16, kBf16},
            "mixed_precision.bf16 and fp16 are both true, but Megatron-Bridge and Megatron-LM accept only one of them; "
            "set one to false");
  decide_recipe(r);
  MixedPrecisionConfig& precision = r.config().mixed_precision;
  const std::string& recipe = precision.recipe;
  decide_fields(r, recipe);
  const Scaling scaling = scaling_of(recipe);
  decide_by_recipe(r, kGradsFp32, !recipe.starts_with("fp16"), r.config().ddp.grad_reduce_in_fp32);
  decide_by_recipe(r, kGatherFp8, is_fp8(scaling) && recipe.find("subchannel") == recipe.npos,
                   precision.fp8_param_gather);
  precision.fp4_param_gather = scaling == Scaling::nvfp4 && r.settings.flag(kGatherFp4, true);
  if (precision.fp4_param_gather) r.decide(kGatherFp4, {true, "auto", fmt::format("recipe {}", recipe)});
  if (precision.fp8_param_gather && !is_fp8(scaling))
    r.error({kGatherFp8}, fmt::format("fp8_param_gather needs an fp8 recipe, not {}; set mixed_precision.recipe to "
                                      "bf16_with_fp8_current_scaling_mixed, or leave fp8_param_gather out",
                                      recipe));
  check_fields(r, scaling);
  if (scaling == Scaling::mxfp8) check_mxfp8(r);
}

}  // namespace underlap::plan
