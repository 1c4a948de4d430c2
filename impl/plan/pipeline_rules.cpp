// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism, as Megatron-Bridge decides it. Where Bridge lets a setting through that the schedule then
// refuses, the plan is an error.
#include <fmt/format.h>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kOverlap = "comm_overlap.overlap_p2p_comm";
constexpr std::string_view kBatch = "comm_overlap.batch_p2p_comm";
constexpr std::string_view kVpp = "model.virtual_pipeline_model_parallel_size";
constexpr std::string_view kPp = "model.pipeline_model_parallel_size";
constexpr std::string_view kAlign = "comm_overlap.align_param_gather";
constexpr std::string_view kWithStep = "comm_overlap.overlap_param_gather_with_optimizer_step";
constexpr std::string_view kDefer = "comm_overlap.defer_embedding_wgrad_compute";
constexpr std::string_view kLimit = "comm_overlap.wgrad_deferral_limit";

std::string sizes(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  return fmt::format("pipeline_model_parallel_size is {}, virtual_pipeline_model_parallel_size is {}",
                     p.pipeline_model_parallel_size, p.virtual_pipeline_model_parallel_size);
}

/// The user's value, or `automatic`. Bridge does not check the user's again.
bool decide_flag(Resolution& r, std::string_view path, bool automatic) {
  if (r.settings.given(path)) return r.settings.flag(path, false);
  r.decide(path, {automatic ? "true" : "false", "auto", sizes(r)});
  return automatic;
}

void check_schedule(Resolution& r, bool overlap, bool batch) {
  const ParallelConfig& p = r.config().parallel;
  const bool is_interleaved = p.virtual_pipeline_model_parallel_size > 1;
  if (p.pipeline_model_parallel_size < 2) return;
  if (overlap && !is_interleaved)
    r.error({kOverlap},
            "overlap_p2p_comm needs virtual_pipeline_model_parallel_size of at least 2: the plain 1F1B "
            "schedule refuses it");
  if (overlap && batch)
    r.error({kBatch, kOverlap},
            "overlap_p2p_comm and batch_p2p_comm exclude each other: a batched exchange is waited "
            "for at once; set one of them to false");
  if (!overlap && is_interleaved && p.pipeline_model_parallel_size == 2)
    r.error({kOverlap, kVpp}, "virtual stages without overlap_p2p_comm need pipeline_model_parallel_size above 2");
  if (is_interleaved && r.config().train.num_microbatches % p.pipeline_model_parallel_size != 0)
    r.error({"train.num_microbatches", "train.global_batch_size", kPp},
            fmt::format("num_microbatches is {}, but virtual stages need a multiple of "
                        "pipeline_model_parallel_size ({})",
                        r.config().train.num_microbatches, p.pipeline_model_parallel_size));
}

void check_step_gather(Resolution& r) {
  if (!r.settings.flag(kWithStep, false)) return;
  const bool has_stages = r.config().parallel.virtual_pipeline_model_parallel_size > 1;
  if (r.config().ddp.use_distributed_optimizer && r.config().ddp.overlap_param_gather && has_stages) return;
  r.error({kWithStep},
          "overlap_param_gather_with_optimizer_step needs ddp.use_distributed_optimizer, "
          "overlap_param_gather and virtual_pipeline_model_parallel_size above 1");
}

void check_deferral(Resolution& r) {
  if (!r.settings.flag(kDefer, false)) return;
  if (r.config().parallel.pipeline_model_parallel_size < 2)
    r.error({kDefer}, "defer_embedding_wgrad_compute needs pipeline_model_parallel_size of at least 2");
  if (r.settings.integer(kLimit, -1) < 0)
    r.error({kLimit, kDefer},
            "defer_embedding_wgrad_compute needs wgrad_deferral_limit of at least 0; -1, its "
            "automatic value, is refused by Megatron Core");
}

}  // namespace

void apply_pp_rules(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  const bool is_pipeline = p.pipeline_model_parallel_size > 1;
  const bool is_interleaved = is_pipeline && p.virtual_pipeline_model_parallel_size > 1;
  const bool rules = !r.settings.without_overlap_rules;
  const bool overlap = decide_flag(r, kOverlap, rules && is_interleaved);
  const bool batch = decide_flag(r, kBatch, rules ? is_pipeline && !is_interleaved : true);
  decide_flag(r, kAlign, rules && is_interleaved && p.data_parallel_size > 1);
  check_schedule(r, overlap, batch);
  check_step_gather(r);
  check_deferral(r);
}

void apply_expert_rules(Resolution& r) {
  constexpr std::string_view kExperts = "model.expert_model_parallel_size";
  if (r.settings.integer(kExperts, 1) > 1)
    r.error({kExperts}, "expert_model_parallel_size must be 1: Underlap's models have no experts");
  for (const std::string_view path :
       {"comm_overlap.overlap_moe_expert_parallel_comm", "comm_overlap.delay_wgrad_compute"})
    if (r.settings.flag(path, false))
      r.error({path}, fmt::format("{} needs expert_model_parallel_size above 1, and Underlap's models have no experts; "
                                  "leave it out",
                                  path));
}

}  // namespace underlap::plan
