// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism, as Megatron-Bridge decides it. Where Bridge lets a setting through that the schedule then
// refuses, the plan is an error.
#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/precision.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kP2pOverlap = "comm_overlap.overlap_p2p_comm";
constexpr std::string_view kBatch = "comm_overlap.batch_p2p_comm";
constexpr std::string_view kFlush = "model.overlap_p2p_comm_warmup_flush";
constexpr std::string_view kGroup = "model.microbatch_group_size_per_vp_stage";
constexpr std::string_view kMicrobatches = "train.num_microbatches";
constexpr std::string_view kAlign = "comm_overlap.align_param_gather";
constexpr std::string_view kAlignReduce = "ddp.align_grad_reduce";
constexpr std::string_view kWithStep = "comm_overlap.overlap_param_gather_with_optimizer_step";
constexpr std::string_view kDefer = "comm_overlap.defer_embedding_wgrad_compute";
constexpr std::string_view kLimit = "comm_overlap.wgrad_deferral_limit";
constexpr std::string_view kSchedule = "extensions.pipeline_schedule";
constexpr std::string_view kWithoutStages = "extensions.overlap_without_virtual_stages";
constexpr std::string_view kByEvent = "extensions.release_by_event";
constexpr std::string_view kEveryStage = "extensions.bucket_every_stage";
constexpr std::string_view kScatterGather = "extensions.scatter_gather_tensors_in_pipeline";

bool is_pipeline(const Resolution& r) { return r.plan.config.parallel.pipeline_model_parallel_size > 1; }

bool is_interleaved(const Resolution& r) { return is_pipeline(r) && r.plan.config.parallel.is_interleaved(); }

bool has_chunks(const Resolution& r) {
  return is_pipeline(r) && r.plan.config.parallel.virtual_pipeline_model_parallel_size > 1;
}

std::string sizes(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  return fmt::format("pipeline_model_parallel_size is {}, virtual_pipeline_model_parallel_size is {}",
                     p.pipeline_model_parallel_size, p.virtual_pipeline_model_parallel_size);
}

/// Whether the plain 1F1B schedule is to overlap its exchanges, which Megatron's does not.
bool overlaps_plain_schedule(const Resolution& r) {
  return r.plan.config.extensions.overlap_without_virtual_stages && is_pipeline(r) && !is_interleaved(r);
}

/// `field` keeps the user's value, which Bridge does not check again, or becomes `automatic`.
void decide_flag(Resolution& r, std::string_view path, bool& field, bool automatic, const std::string& reason) {
  if (r.settings.given(path)) return;
  field = automatic;
  r.decide(path, {automatic, "auto", reason});
}

void decide_exchanges(Resolution& r) {
  PipelineConfig& pipeline = r.config().pipeline;
  const bool rules = r.settings.without_overlap_rules.empty();
  const bool plain = overlaps_plain_schedule(r);
  const std::string reason = plain ? fmt::format("{} is true", kWithoutStages) : sizes(r);
  decide_flag(r, kP2pOverlap, pipeline.overlap_p2p_comm, plain || (rules && has_chunks(r)), reason);
  const bool batched = rules ? is_pipeline(r) && !has_chunks(r) : true;
  decide_flag(r, kBatch, pipeline.batch_p2p_comm, batched && !(plain && pipeline.overlap_p2p_comm), reason);
}

void expose_every_gather(Resolution& r) {
  constexpr std::string_view kPrefetch = "extensions.param_gather_prefetch";
  r.expose({kAlign},
           fmt::format("every parameter gather is exposed: align_param_gather leaves them to the interleaved schedule, "
                       "but {}, so each starts when it is first needed; set align_param_gather to false",
                       sizes(r)));
  if (r.settings.given(kPrefetch)) return;
  r.config().extensions.param_gather_prefetch = 0;
  r.decide(
      kPrefetch,
      {0, "auto",
       "align_param_gather is true without virtual stages, so Megatron Core starts no gather before its first use"});
}

void decide_group_size(Resolution& r) {
  auto& group = r.config().pipeline.microbatch_group_size_per_vp_stage;
  const std::int64_t stages = r.config().parallel.pipeline_model_parallel_size;
  if (!is_pipeline(r)) return;
  if (!r.settings.given(kGroup)) {
    group = stages;
    r.decide(kGroup, {stages, "auto", fmt::format("pipeline_model_parallel_size is {}", stages)});
  } else if (!is_interleaved(r)) {
    r.warn_no_effect(kGroup, "virtual_pipeline_model_parallel_size is 1");
  }
}

/// Only the schedule of virtual stages starts gathers. With other schedules Megatron Core starts each gather at its
/// first use, and none early: align_param_gather makes it leave the next bucket to the schedule.
void decide_aligned_gather(Resolution& r) {
  DdpConfig& ddp = r.config().ddp;
  const bool automatic = has_chunks(r) && r.config().parallel.data_parallel_size > 1;
  const Decision decision = decide_dp_knob(r, kAlign, automatic, false, sizes(r));
  ddp.align_param_gather = std::get<bool>(decision.effective);
  r.decide(kAlign, decision);
  if (!ddp.align_param_gather) return;
  if (!ddp.use_distributed_optimizer)
    r.warn_no_effect(kAlign, "ddp.use_distributed_optimizer is false, so parameters are not gathered");
  else if (!ddp.overlap_param_gather)
    r.warn_no_effect(kAlign, "overlap_param_gather is false");
  else if (!is_interleaved(r) && in_scope(Scope::dp, r))
    expose_every_gather(r);
  else if (!has_chunks(r) && in_scope(Scope::dp, r))
    r.error({kAlign, kVpp},
            "align_param_gather gathers the first two chunks of a stage first, and with "
            "virtual_pipeline_model_parallel_size 1 Megatron Core fails because there is no second chunk; set "
            "align_param_gather to false");
  ddp.align_param_gather = is_interleaved(r) && ddp.overlap_param_gather && ddp.use_distributed_optimizer;
}

void check_schedule(Resolution& r) {
  const PipelineConfig& pipeline = r.config().pipeline;
  if (pipeline.overlap_p2p_comm_warmup_flush && (!pipeline.overlap_p2p_comm || pipeline.batch_p2p_comm))
    r.error({kFlush},
            "overlap_p2p_comm_warmup_flush needs overlap_p2p_comm true and batch_p2p_comm false; set them so, or leave "
            "it out");
  if (!is_pipeline(r)) return;
  if (pipeline.overlap_p2p_comm && !is_interleaved(r) && !overlaps_plain_schedule(r))
    r.error({kP2pOverlap}, fmt::format("overlap_p2p_comm needs virtual_pipeline_model_parallel_size of at least 2: the "
                                       "plain 1F1B schedule rejects it; or set {} to true",
                                       kWithoutStages));
  if (pipeline.overlap_p2p_comm && pipeline.batch_p2p_comm)
    r.error({kBatch, kP2pOverlap},
            "overlap_p2p_comm and batch_p2p_comm are mutually exclusive: a batched exchange is waited for immediately; "
            "set one of them to false");
  if (!pipeline.overlap_p2p_comm && has_chunks(r) && r.config().parallel.pipeline_model_parallel_size == 2)
    r.error({kP2pOverlap, kVpp},
            "virtual stages without overlap_p2p_comm need pipeline_model_parallel_size above 2, and it is 2; raise it, "
            "or set overlap_p2p_comm to true: otherwise the same two ranks exchange several tensors in one batch, and "
            "nothing distinguishes them");
}

void decide_schedule(Resolution& r) {
  if (!r.settings.given(kSchedule))
    return r.decide(kSchedule,
                    {std::string(schedule_in_effect(r.config())), "auto",
                     fmt::format("{}, overlap_p2p_comm is {}", sizes(r), r.config().pipeline.overlap_p2p_comm)});
  if (const PipelineSchedule* schedule = find_schedule_in_effect(r.config()))
    if (const std::string refusal = schedule->refusal(r.config()); !refusal.empty())
      r.error({kSchedule}, fmt::format("{} {}: {}", kSchedule, schedule->name, refusal));
}

/// A chunk takes so many microbatches in a row; what is left over must still fill the pipeline.
void check_group_size(Resolution& r) {
  if (!is_interleaved(r) || r.settings.invalid(kGroup) || r.settings.invalid(kMicrobatches)) return;
  const std::int64_t stages = r.config().parallel.pipeline_model_parallel_size;
  const std::int64_t microbatches = r.config().train.num_microbatches;
  const std::int64_t group = r.config().pipeline.microbatch_group_size_per_vp_stage;
  const std::int64_t rest = microbatches % group;
  if (group >= stages && group <= microbatches && (rest == 0 || rest >= stages)) return;
  if (r.settings.given(kGroup))
    r.error({kGroup}, fmt::format("{} is {}; it must lie between pipeline_model_parallel_size ({}) and "
                                  "num_microbatches ({}), and leave a remainder of 0 or at least {}",
                                  kGroup, group, stages, microbatches, stages));
  else
    r.error({kMicrobatches, "train.global_batch_size", kPp},
            fmt::format("num_microbatches is {}, but virtual stages need a multiple of pipeline_model_parallel_size "
                        "({}); change it, or set {} so that the remainder is 0 or at least {}",
                        microbatches, stages, kGroup, stages));
}

/// Bridge's automatic limit is -1, which Megatron Core then refuses.
void decide_deferral(Resolution& r) {
  PipelineConfig& pipeline = r.config().pipeline;
  const std::int64_t limit = r.settings.integer(kLimit, -1);
  if (!pipeline.defer_embedding_wgrad_compute) {
    if (limit >= 0 && is_pipeline(r)) r.warn_no_effect(kLimit, fmt::format("{} is false", kDefer));
    return;
  }
  pipeline.wgrad_deferral_limit = std::max<std::int64_t>(limit, 0);
  if (!is_pipeline(r))
    r.error({kDefer},
            "defer_embedding_wgrad_compute needs pipeline_model_parallel_size of at least 2, and it is 1; "
            "leave it out");
  if (!r.settings.flag("model.gradient_accumulation_fusion", true))
    r.error({kDefer}, "defer_embedding_wgrad_compute needs model.gradient_accumulation_fusion; leave that at true");
  if (limit < 0)
    r.error({kLimit, kDefer},
            "defer_embedding_wgrad_compute needs wgrad_deferral_limit of at least 0; Megatron Core rejects -1, its "
            "automatic value");
}

/// Where nothing is cut into buckets, there are none on the other stages either.
void decide_every_stage(Resolution& r) {
  Config& c = r.config();
  if (!c.extensions.bucket_every_stage) return;
  if (c.optimizer.overlap_param_gather_with_optimizer_step) {
    c.extensions.bucket_every_stage = false;
    r.decide(kEveryStage, {false, "gate", fmt::format("{} leaves one bucket per chunk", kWithStep)});
  } else if (!c.ddp.overlap_grad_reduce && !c.ddp.overlap_param_gather) {
    r.warn_no_effect(kEveryStage, "neither gradients nor parameters overlap, so each has one bucket");
  }
}

/// Only what all tensor-parallel ranks hold can be sent in parts.
void decide_scatter_gather(Resolution& r) {
  Config& c = r.config();
  if (!c.extensions.scatter_gather_tensors_in_pipeline) return;
  const auto gate = [&](std::string reason) {
    c.extensions.scatter_gather_tensors_in_pipeline = false;
    r.decide(kScatterGather, {false, "gate", std::move(reason)});
  };
  if (c.parallel.tensor_model_parallel_size == 1)
    return gate("tensor_model_parallel_size is 1: one rank of a stage holds the activation and sends it");
  if (c.parallel.sequence_parallel)
    gate("sequence_parallel is true: each rank of a stage holds different tokens and sends only these");
}

/// Reports requests that have no effect because of another choice.
void warn_idle_knobs(Resolution& r) {
  const Config& c = r.config();
  if (c.extensions.overlap_without_virtual_stages && is_interleaved(r))
    r.warn_no_effect(kWithoutStages, fmt::format("virtual_pipeline_model_parallel_size is {}",
                                                 c.parallel.virtual_pipeline_model_parallel_size));
  else if (c.extensions.overlap_without_virtual_stages && !c.pipeline.overlap_p2p_comm)
    r.warn_no_effect(kWithoutStages, "overlap_p2p_comm is false");
  if (c.extensions.release_by_event && !c.pipeline.deallocate_pipeline_outputs)
    r.warn_no_effect(kByEvent, "model.deallocate_pipeline_outputs is false");
  else if (c.extensions.release_by_event && !c.pipeline.overlap_p2p_comm)
    r.warn_no_effect(kByEvent, "overlap_p2p_comm is false, so ranks wait for every exchange");
  if (!c.ddp.align_grad_reduce && !c.ddp.overlap_grad_reduce)
    r.warn_no_effect(kAlignReduce, "overlap_grad_reduce is false");
}

}  // namespace

void check_split_backward(Resolution& r) {
  const Config& c = r.config();
  if (!splits_backward(c)) return;
  const auto refuse = [&](std::string_view path, std::string_view why) {
    r.error({path, kSchedule},
            fmt::format("{} {} defers weight gradients, and {}", kSchedule, schedule_in_effect(c), why));
  };
  if (uses_userbuffers(c.tensor_overlap))
    refuse("comm_overlap.tp_comm_overlap", "tp_comm_overlap runs collectives during them; change one of the two");
  if (is_fp8(scaling_of(c)))
    refuse("mixed_precision.recipe", "this version keeps no fp8 gradients for them; choose bf16_mixed");
  if (c.recompute.method != RecomputeMethod::none)
    refuse("model.recompute_granularity",
           "recomputed activations are freed before these gradients are computed; leave recompute_granularity out");
  if (c.pipeline.defer_embedding_wgrad_compute)
    refuse(kDefer, "those of the head are among them; set defer_embedding_wgrad_compute to false");
}

// Megatron Core splits the optimizer in that of the first chunk and that of the others.
void decide_step_gather(Resolution& r) {
  bool& field = r.config().optimizer.overlap_param_gather_with_optimizer_step;
  const Decision decision = decide_dp_knob(r, kWithStep, false, false, "default: false");
  field = std::get<bool>(decision.effective);
  if (r.settings.given(kWithStep) || decision.source == "gate") r.decide(kWithStep, decision);
  if (!field) return;
  if (r.settings.flag(kReuse, scaling_of(r.config()) == Scaling::mxfp8))
    r.error({kWithStep},
            fmt::format("overlap_param_gather_with_optimizer_step and ddp.reuse_grad_buf_for_mxfp8_param_ag, which "
                        "recipe {} sets, are mutually exclusive; leave one of them out",
                        r.config().mixed_precision.recipe));
  if (!r.config().ddp.use_distributed_optimizer) {
    field = false;
    return r.warn_no_effect(kWithStep, "ddp.use_distributed_optimizer is false, so parameters are not gathered");
  }
  std::vector<std::string_view> missing;
  if (!r.config().ddp.overlap_param_gather) missing.push_back("comm_overlap.overlap_param_gather");
  if (!has_chunks(r)) missing.push_back("virtual_pipeline_model_parallel_size above 1");
  if (missing.empty()) return;
  field = false;
  r.not_run(
      {kWithStep},
      fmt::format(
          "overlap_param_gather_with_optimizer_step needs {}: the first chunk is gathered while the optimizer updates "
          "the others, and Megatron-LM's command line rejects it otherwise; set what is missing, or leave it out",
          fmt::join(missing, " and ")));
}

void apply_pp_rules(Resolution& r) {
  decide_exchanges(r);
  decide_group_size(r);
  decide_aligned_gather(r);
  decide_deferral(r);
  check_schedule(r);
  check_group_size(r);
  if (!is_pipeline(r)) return;
  decide_schedule(r);
  decide_every_stage(r);
  decide_scatter_gather(r);
  warn_idle_knobs(r);
}

}  // namespace underlap::plan
