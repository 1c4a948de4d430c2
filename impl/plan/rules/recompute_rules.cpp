// SPDX-License-Identifier: Apache-2.0
// Recomputation of activations: which layers run forward again in backward, as Megatron Core's TransformerConfig reads
// it. It is an error to recompute more layers than a chunk has: TransformerConfig does not check this, and its
// transformer block then misinterprets it or fails.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kGranularity = "model.recompute_granularity";
constexpr std::string_view kMethod = "model.recompute_method";
constexpr std::string_view kRecomputeLayers = "model.recompute_num_layers";
constexpr std::string_view kModules = "model.recompute_modules";

constexpr std::array<std::string_view, 3> kOfTheseModels{"core_attn", "layernorm", "mlp"};
constexpr std::array<std::string_view, 4> kOfOtherModels{"mla_up_proj", "moe", "moe_act", "shared_experts"};

/// Layers of the largest chunk. 0 if the sizes do not divide, which is reported separately.
std::int64_t layers_of_chunk(const Config& c) {
  if (const auto& ranges = c.parallel.layers_of_ranges; !ranges.empty()) return *std::ranges::max_element(ranges);
  const std::int64_t chunks = c.parallel.num_chunks();
  return c.model.num_layers % chunks == 0 ? c.model.num_layers / chunks : 0;
}

void decide_num_layers(Resolution& r) {
  const std::int64_t of_chunk = layers_of_chunk(r.config());
  if (r.settings.invalid(kRecomputeLayers) || of_chunk == 0) return;
  const std::int64_t layers = r.settings.integer(kRecomputeLayers, 0);
  const std::string range = fmt::format("from 1 to {}, the layers of a model chunk", of_chunk);
  if (layers == 0)
    r.error({kGranularity},
            fmt::format("recompute_granularity full needs recompute_num_layers; set it to a value {}", range));
  else if (layers > of_chunk)
    r.error({kRecomputeLayers}, fmt::format("recompute_num_layers is {}; it must be {}", layers, range));
  else
    r.config().recompute.num_layers = static_cast<std::int32_t>(layers);
}

void recompute_whole_layers(Resolution& r) {
  RecomputeConfig& recompute = r.config().recompute;
  r.warn_no_effect(kModules, "recompute_granularity is full");
  decide_num_layers(r);
  if (!r.settings.given(kMethod) && !r.settings.invalid(kMethod))
    r.error({kGranularity}, "recompute_granularity full needs recompute_method; write uniform or block");
  if (!r.settings.given(kMethod) || recompute.num_layers == 0) return;
  const bool is_uniform = r.settings.text(kMethod, "") == "uniform";
  recompute.method = is_uniform ? RecomputeMethod::uniform : RecomputeMethod::block;
  const std::string kept = is_uniform
                               ? fmt::format("each chunk keeps the input of every {} layers", recompute.num_layers)
                               : fmt::format("each chunk keeps the input of its first {} layers", recompute.num_layers);
  r.decide(
      kGranularity,
      {"full", "user", fmt::format("{}; {}, and recomputes them in the backward pass", r.set_at(kGranularity), kept)});
}

void read_module(Resolution& r, const Value& module) {
  const auto* text = std::get_if<std::string>(&module);
  const std::string name = text != nullptr ? *text : to_json_text(module);
  if (is_one_of(kOfOtherModels, name)) {
    if (!r.settings.is_dump)
      r.notice({kModules},
               fmt::format("recompute_modules: {} has no effect: Underlap's models have neither experts nor "
                           "latent attention",
                           name));
  } else if (!is_one_of(kOfTheseModels, name)) {
    r.error({kModules}, fmt::format("recompute_modules: unknown module {}; choose from {}, {}", in_quotes(name),
                                    fmt::join(kOfTheseModels, ", "), fmt::join(kOfOtherModels, ", ")));
  } else if (name == "layernorm") {
    if (!r.settings.is_dump)
      r.notice({kModules},
               "recompute_modules: layernorm has no effect on planned layers: Transformer Engine fuses norms into the "
               "linear layers after them, and Megatron Core recomputes only separate norms");
  } else if (name == "mlp") {
    r.config().recompute.mlp = true;
    r.not_run({kModules},
              "recompute_modules: mlp is planned, with the memory that it saves, but not recomputed by this version; "
              "leave it out, or recompute whole layers with recompute_granularity full");
  }
}

std::string modules_reason(const Resolution& r, bool has_attention) {
  std::string reason = r.set_at(kGranularity);
  if (has_attention)
    reason += "; core_attn costs nothing: fused attention keeps no scores and recomputes them in every backward pass";
  if (r.plan.config.recompute.mlp)
    reason += "; the MLP keeps only its input, which the residual keeps anyway, and is recomputed in the backward pass";
  return reason;
}

/// Attention keeps no scores here, so that one of the modules is always recomputed.
void recompute_modules(Resolution& r) {
  r.warn_no_effect(kMethod, "recompute_granularity is selective");
  if (r.settings.given(kRecomputeLayers))
    r.error({kRecomputeLayers}, fmt::format("recompute_num_layers is {}, but recompute_granularity selective "
                                            "recomputes modules, not layers; leave it out",
                                            r.settings.integer(kRecomputeLayers, 0)));
  if (r.settings.invalid(kModules)) return;
  const Value written = r.settings.given(kModules) ? r.settings[kModules].value : fallback(row_index(kModules));
  const auto* modules = std::get_if<ValueList>(&written);
  if (modules == nullptr)
    return r.error({kModules}, fmt::format("recompute_modules must be a list of modules such as [core_attn], not {}",
                                           to_json_text(written)));
  for (const Value& module : *modules) read_module(r, module);
  const bool has_attention = std::find(modules->begin(), modules->end(), Value("core_attn")) != modules->end();
  if (has_attention || r.config().recompute.mlp)
    r.decide(kGranularity, {"selective", "user", modules_reason(r, has_attention)});
}

}  // namespace

void apply_recompute_rules(Resolution& r) {
  if (r.settings.invalid(kGranularity)) return;
  const std::string granularity = r.settings.text(kGranularity, "");
  if (granularity == "full") return recompute_whole_layers(r);
  if (granularity == "selective") return recompute_modules(r);
  for (const std::string_view path : {kMethod, kRecomputeLayers, kModules})
    r.warn_no_effect(path, "recompute_granularity is null");
}

}  // namespace underlap::plan
