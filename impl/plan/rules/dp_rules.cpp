// SPDX-License-Identifier: Apache-2.0
// Data parallelism, as decided by Megatron-Bridge's CommOverlapConfig. With the distributed optimizer an absent value
// is true (bucket_size: 134217728 parameters) if there are several data-parallel ranks, and off otherwise. Values under
// comm_overlap stay as written. Without ddp.use_distributed_optimizer Bridge skips these rules, and ignores the values
// under comm_overlap.
#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

constexpr std::int64_t kBridgeBucket = 134'217'728;
constexpr std::string_view kBucket = "comm_overlap.bucket_size";
constexpr std::string_view kNumBuckets = "ddp.num_buckets";

/// The reason why Bridge's rules do not run; empty if they do.
std::string why_no_rules(const Resolution& r) {
  if (!r.settings.without_overlap_rules.empty()) return r.settings.without_overlap_rules;
  if (!r.settings.distributed_in_ddp()) return "ddp.use_distributed_optimizer is false";
  return "";
}

/// Whether only Bridge's skipped rules would have applied this value.
bool skipped_with_the_rules(const Resolution& r, std::string_view path) {
  return r.settings.given(path) && r.settings[path].spelling.starts_with("comm_overlap.");
}

/// Context-parallel ranks share the gradients as well, but Bridge considers only the data-parallel size.
std::string why_automatic(const Resolution& r) {
  const auto dp = r.plan.config.parallel.data_parallel_size;
  if (dp > 1) return fmt::format("data_parallel_size is {}, above 1", dp);
  if (!in_scope(Scope::dp, r)) return "data_parallel_size is 1; there is no other rank to exchange with";
  return "data_parallel_size is 1: Megatron-Bridge's rule is off, though context-parallel ranks share the gradients";
}

void decide_overlap(Resolution& r, std::string_view path, bool& field, std::string_view departure) {
  const bool automatic = r.config().parallel.data_parallel_size > 1;
  Decision decision = decide_dp_knob(r, path, automatic, false, why_automatic(r));
  field = std::get<bool>(decision.effective);
  if (field)
    decision.reason += in_scope(Scope::dp, r) ? fmt::format("; unlike Megatron, {}", departure)
                                              : "; no effect: data_parallel_size is 1";
  r.decide(path, std::move(decision));
}

/// The default of Megatron Core's DistributedDataParallel if bucket_size is None.
std::int64_t core_bucket(const Config& config) {
  const ParallelConfig& p = config.parallel;
  return std::max<std::int64_t>(40'000'000, 1'000'000 * p.num_replicas());
}

void decide_bucket(Resolution& r) {
  const bool automatic = r.config().parallel.data_parallel_size > 1;
  Decision decision = decide_dp_knob(r, kBucket, automatic ? Value(kBridgeBucket) : Value(), Value(), why_automatic(r));
  const DdpConfig& ddp = r.config().ddp;
  auto& bucket = r.config().ddp.bucket_size;
  if (r.settings.given(kNumBuckets) && !is_null(decision.effective))
    r.error({kNumBuckets}, fmt::format("ddp.num_buckets excludes bucket_size, which is {}: Megatron Core's DDP takes "
                                       "only one of them; keep one, or remove both to let the rule set bucket_size",
                                       to_json_text(decision.effective)));
  if (is_null(decision.effective) && ddp.overlap_grad_reduce && !r.settings.given(kNumBuckets)) {
    decision.effective = core_bucket(r.config());
    decision.reason += fmt::format("; Megatron Core's DDP uses {} parameters for null", core_bucket(r.config()));
  }
  bucket.reset();
  if (!is_null(decision.effective)) bucket = std::get<std::int64_t>(decision.effective);
  if (bucket && !ddp.overlap_grad_reduce && !ddp.overlap_param_gather) {
    const std::string_view why = "neither gradients nor parameters overlap, so each has one bucket";
    decision.reason += fmt::format("; no effect: {}", why);
    r.notice({kBucket, kGrads, kParams}, fmt::format("bucket_size has no effect: {}", why));
    bucket.reset();
  } else if (bucket && r.config().optimizer.overlap_param_gather_with_optimizer_step) {
    decision.reason += "; no effect: overlap_param_gather_with_optimizer_step leaves one bucket per chunk";
    bucket.reset();
  }
  r.decide(kBucket, std::move(decision));
}

void check_contradictions(Resolution& r) {
  const DdpConfig& ddp = r.config().ddp;
  if (ddp.overlap_param_gather && !ddp.use_distributed_optimizer)
    r.error({kParams},
            "overlap_param_gather needs ddp.use_distributed_optimizer: without it parameters are not gathered, and "
            "Megatron Core fails in the first forward pass; set both to the same value");
}

/// Megatron Core's all-to-all does not depend on the gradients' type.
void warn_about_fp32_accumulation(Resolution& r) {
  constexpr std::string_view kPath = "ddp.reduce_scatter_with_fp32_accumulation";
  const DdpConfig& ddp = r.config().ddp;
  if (!ddp.reduce_scatter_with_fp32_accumulation || !in_scope(Scope::dp, r)) return;
  if (!ddp.use_distributed_optimizer)
    r.warn_no_effect(kPath, "ddp.use_distributed_optimizer is false, so gradients are all-reduced");
  else if (ddp.grad_reduce_in_fp32)
    r.notice({kPath},
             fmt::format("{} gains nothing and costs an all-to-all with an extra buffer: gradients are already sent "
                         "and summed in fp32; set mixed_precision.grad_reduce_in_fp32 to false to send bf16",
                         kPath));
}

/// Each instance shards a complete optimizer state over its ranks; gradients are also summed over instances.
void check_instances(Resolution& r) {
  constexpr std::string_view kPath = "ddp.num_distributed_optimizer_instances";
  const DdpConfig& ddp = r.config().ddp;
  const ParallelConfig& p = r.config().parallel;
  const std::int64_t ranks = p.num_replicas();
  const std::int32_t instances = ddp.num_distributed_optimizer_instances;
  if (instances < 2) return;
  if (ranks % instances != 0)
    r.error({kPath}, fmt::format("{} is {}, which does not divide data_parallel_size * context_parallel_size ({}); set "
                                 "it to a divisor",
                                 kPath, instances, ranks));
  if (!ddp.use_distributed_optimizer)
    r.error({kPath},
            fmt::format("{} is {}, which needs ddp.use_distributed_optimizer; set that to true, or leave this out",
                        kPath, instances));
  if (ddp.reduce_scatter_with_fp32_accumulation)
    r.error(
        {kPath},
        fmt::format("{} above 1 and ddp.reduce_scatter_with_fp32_accumulation are mutually exclusive; keep one of them",
                    kPath));
}

}  // namespace

Decision decide_dp_knob(const Resolution& r, std::string_view path, const Value& automatic, const Value& core,
                        const std::string& why_automatic) {
  const Value& requested = r.settings[path].value;
  const bool given = r.settings.given(path);
  const std::string no_rules = why_no_rules(r);
  if (given && (no_rules.empty() || !skipped_with_the_rules(r, path) || requested == core))
    return {requested, "user", r.set_at(path)};
  if (no_rules.empty()) return {automatic, "auto", why_automatic};
  if (!given) return {core, "auto", fmt::format("{}: no automatic rule; Megatron Core's default", no_rules)};
  return {core, "gate",
          fmt::format(
              "{}, so Megatron-Bridge skips settings under comm_overlap; write it under ddp or optimizer to keep it",
              no_rules)};
}

void apply_dp_rules(Resolution& r) {
  DdpConfig& ddp = r.config().ddp;
  decide_overlap(r, kGrads, ddp.overlap_grad_reduce,
                 "overlaps from the first step on, because the bucket order is known from the model");
  decide_overlap(r, kParams, ddp.overlap_param_gather, "does not need overlap_grad_reduce: each has its own buckets");
  decide_step_gather(r);
  decide_bucket(r);
  warn_about_fp32_accumulation(r);
  check_contradictions(r);
  check_instances(r);
}

}  // namespace underlap::plan
