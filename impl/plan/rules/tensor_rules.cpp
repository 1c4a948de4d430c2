// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism: the gates of Megatron-Bridge's CommOverlapConfig in their order. Its third gate, a failed import
// of Transformer Engine, does not occur here. Bridge accepts any userbuffers preset for any shape; the plan does not.
#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/precision.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/rules/tensor_request.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kLatent = "model.multi_latent_attention";

std::string closed_gate(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  if (p.tensor_model_parallel_size < 2)
    return fmt::format("tensor_model_parallel_size is {}; TP overlap needs at least 2", p.tensor_model_parallel_size);
  if (!p.sequence_parallel) return "sequence_parallel is false; TP overlap moves sequence shards";
  if (r.settings.flag(kLatent, false))
    return "model.multi_latent_attention is true, and userbuffers does not support the first projection of latent "
           "attention, so Megatron Core disables TP overlap for all layers";
  return "";
}

/// Neither Megatron-Bridge nor Transformer Engine checks that a preset fits the job: it runs, tuned for another job.
void compare_preset(Resolution& r, const UserbuffersPreset& preset) {
  const Config& c = r.config();
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view what, const auto& here, const auto& there) {
    if (here != there) differences.push_back(fmt::format("{} {}, not {}", what, there, here));
  };
  const std::string& arch = c.environment.gpu_arch;
  compare("hidden_size", c.model.hidden_size, preset.hidden_size);
  compare("tensor_model_parallel_size", std::int64_t{c.parallel.tensor_model_parallel_size}, std::int64_t{preset.tp});
  if (architecture_of(arch) != architecture_of(preset.arch)) compare("gpu_arch", std::string_view(arch), preset.arch);
  compare("seq_length", c.model.seq_length, preset.seq_length);
  compare("micro_batch_size", c.train.micro_batch_size, preset.micro_batch_size);
  compare("context_parallel_size", std::int64_t{c.parallel.context_parallel_size}, preset.cp);
  compare("precision", std::string_view(is_fp8(scaling_of(c)) ? "fp8" : "bf16"), preset.precision);
  if (!differences.empty())
    r.notice({kTensorOverlapConfig},
             fmt::format("the userbuffers preset was tuned for {}", fmt::join(differences, ", for ")));
}

/// Block scaling has no single scale per tensor, and userbuffers supports no other.
void check_quantizer(Resolution& r) {
  const Scaling scaling = scaling_of(r.config());
  if (scaling != Scaling::blockwise && scaling != Scaling::nvfp4) return;
  r.error({kTensorOverlap}, fmt::format("tp_comm_overlap is incompatible with recipe {}: Transformer Engine's "
                                        "userbuffers support bf16, per-tensor fp8 and mxfp8; change one of them",
                                        r.config().mixed_precision.recipe));
}

/// The reason why nothing overlaps; empty if something does.
std::string decide_overlap(Resolution& r) {
  if (!r.settings.flag(kTensorOverlap, false)) return "tp_comm_overlap is false";
  if (const std::string gate = closed_gate(r); !gate.empty()) {
    r.decide(kTensorOverlap, {false, "gate", gate});
    return "tp_comm_overlap is false: " + gate;
  }
  r.decide(kTensorOverlap, {true, "user", r.set_at(kTensorOverlap)});
  return "";
}

/// A transport that has not run on a GPU cannot be the default.
void decide_ring_transport(Resolution& r) {
  constexpr std::string_view kPath = "extensions.tp_ring_transport";
  Config& c = r.config();
  if (!c.run.traits().runs_on_gpus || !in_scope(Scope::tp, r)) return;
  if (r.settings.given(kPath) && c.extensions.tp_ring_transport == "copy_engine") return;
  c.extensions.tp_ring_transport = "nccl";
  r.decide(kPath, {"nccl", r.settings.given(kPath) ? "user" : "auto",
                   "run.backend is cuda: sends and receives; copy_engine, which copies between peers like userbuffers, "
                   "has not run on a GPU yet"});
}

/// In backward passes Megatron runs each collective during the other one of its two products.
void decide_async_collectives(Resolution& r) {
  constexpr std::string_view kPath = "extensions.tp_async_collectives";
  Config& c = r.config();
  if (!c.extensions.tp_async_collectives || !in_scope(Scope::tp, r) || !splits_backward(c)) return;
  c.extensions.tp_async_collectives = false;
  r.decide(kPath, {false, "gate",
                   fmt::format("extensions.pipeline_schedule {} defers weight gradients, so the collectives of a "
                               "backward pass have no compute to overlap with",
                               schedule_in_effect(c))});
}

bool has_tensor_config(const Resolution& r) {
  const auto given = [&](std::string_view path) { return r.settings.given(path); };
  return given(kTensorOverlapConfig) || std::ranges::any_of(kTensorSlotPaths, given);
}

}  // namespace

void apply_tp_rules(Resolution& r) {
  decide_ring_transport(r);
  decide_async_collectives(r);
  const TensorConfig config = read_tensor_config(r);
  const std::string why_off = decide_overlap(r);
  if (why_off.empty()) {
    check_quantizer(r);
    if (config.preset) compare_preset(r, *config.preset);
    if (!has_tensor_config(r))
      r.notice({kTensorOverlap},
               "tp_comm_overlap without tp_comm_overlap_cfg: Transformer Engine's default settings for each GEMM");
  }
  decide_tensor_slots(r, config, why_off);
}

}  // namespace underlap::plan
