// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism: the gates of Megatron-Bridge's CommOverlapConfig in their order. Its third, a Transformer Engine
// that cannot be imported, does not arise here. Bridge takes any userbuffers preset for any shape; the plan does not.
#include <fmt/format.h>

#include "impl/plan/resolution.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kOverlap = "comm_overlap.tp_comm_overlap";
constexpr std::string_view kConfig = "comm_overlap.tp_comm_overlap_cfg";

std::string closed_gate(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  if (p.tensor_model_parallel_size < 2)
    return fmt::format("tensor_model_parallel_size is {}; TP overlap needs at least 2", p.tensor_model_parallel_size);
  if (!p.sequence_parallel) return "sequence_parallel is false; TP overlap moves sequence shards";
  return "";
}

/// A preset for another layer shape or machine is wrong; for another batch it is only not tuned.
void compare_preset(Resolution& r, const UserbuffersPreset& preset) {
  const Config& c = r.config();
  const std::string& arch = c.environment.gpu_arch;
  const auto must_match = [&](std::string_view what, std::int64_t here, std::int64_t there) {
    if (here != there)
      r.error({kConfig}, fmt::format("the userbuffers preset is for {} {}, not {}; choose another", what, there, here));
  };
  const auto should_match = [&](std::string_view what, const auto& here, const auto& there) {
    if (here != there)
      r.notice({kConfig}, fmt::format("the userbuffers preset was tuned for {} {}, not {}", what, there, here));
  };
  must_match("hidden_size", c.model.hidden_size, preset.hidden_size);
  must_match("tensor_model_parallel_size", c.parallel.tensor_model_parallel_size, preset.tp);
  if (architecture_of(arch) != architecture_of(preset.arch))
    r.error({kConfig}, fmt::format("the userbuffers preset is for {}, not {}; choose another", preset.arch, arch));
  should_match("seq_length", c.model.seq_length, preset.seq_length);
  should_match("micro_batch_size", c.train.micro_batch_size, preset.micro_batch_size);
  should_match("context_parallel_size", std::int64_t{c.parallel.context_parallel_size}, preset.cp);
  const bool is_fp8 = c.mixed_precision.recipe.find("fp8") != std::string::npos;
  should_match("precision", std::string_view(is_fp8 ? "fp8" : "bf16"), preset.precision);
}

void check_overlap_config(Resolution& r) {
  const std::string text = to_json_text(r.settings[kConfig].value);
  if (text.starts_with('{')) return;
  if (!text.starts_with('"'))
    return r.error({kConfig},
                   "tp_comm_overlap_cfg must be the name of a userbuffers preset, or a mapping from GEMMs to settings");
  const std::string name = text.substr(1, text.size() - 2);
  if (const auto preset = find_userbuffers_preset(name)) return compare_preset(r, *preset);
  const auto near = nearest(name, userbuffers_preset_names());
  r.error({kConfig}, fmt::format("no userbuffers preset is named {}{}", in_quotes(name),
                                 near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

}  // namespace

void apply_tp_rules(Resolution& r) {
  if (!r.settings.flag(kOverlap, false)) return;
  if (const std::string gate = closed_gate(r); !gate.empty()) return r.decide(kOverlap, {"false", "gate", gate});
  r.decide(kOverlap, {"true", "user", r.set_at(kOverlap)});
  if (r.settings.given(kConfig)) return check_overlap_config(r);
  r.notice({kOverlap}, "tp_comm_overlap without tp_comm_overlap_cfg: Transformer Engine's own settings for each GEMM");
}

}  // namespace underlap::plan
