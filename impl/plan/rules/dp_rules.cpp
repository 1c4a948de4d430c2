// SPDX-License-Identifier: Apache-2.0
// Data parallelism, as Megatron-Bridge's CommOverlapConfig decides it: with the distributed optimizer an absent value
// is true (bucket_size: 134217728 parameters) above one data-parallel rank; with one rank everything is forced off.
// Without the distributed optimizer Bridge skips these rules, what stands under comm_overlap included.
#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/slot.hpp"

namespace underlap::plan {
namespace {

constexpr std::int64_t kBridgeBucket = 134'217'728;
constexpr std::string_view kGrads = "comm_overlap.overlap_grad_reduce";
constexpr std::string_view kParams = "comm_overlap.overlap_param_gather";
constexpr std::string_view kBucket = "comm_overlap.bucket_size";

/// Why Bridge's rules do not run; empty where they do.
std::string why_no_rules(const Resolution& r) {
  if (r.settings.without_overlap_rules) return "comm_overlap is null in a Megatron-Bridge dump";
  if (!r.plan.config.ddp.use_distributed_optimizer) return "ddp.use_distributed_optimizer is false";
  return "";
}

bool one_rank(const Resolution& r) { return r.plan.config.parallel.data_parallel_size == 1; }

/// The value stands where Bridge's skipped rules would have been its only way into effect.
bool skipped_with_the_rules(const Resolution& r, std::string_view path) {
  return r.settings.given(path) && r.settings[path].spelling.starts_with("comm_overlap.");
}

/// Context-parallel ranks share the gradients as well, but Bridge looks at the data-parallel size alone.
std::string why_off_on_one_rank(const Resolution& r) {
  if (!in_scope(Scope::dp, r)) return "data_parallel_size is 1; there is no other rank to exchange with";
  return "data_parallel_size is 1: Megatron-Bridge switches it off, though context-parallel ranks share the gradients";
}

/// Decides `path`: `automatic` is Bridge's value above one rank, `off` what one rank and Megatron Core's default give.
Decision decide_dp_knob(const Resolution& r, std::string_view path, const Value& automatic, const Value& off,
                        const Value& core_default) {
  const Value& requested = r.settings[path].value;
  const bool given = r.settings.given(path);
  const std::string no_rules = why_no_rules(r);
  const auto dp = r.plan.config.parallel.data_parallel_size;
  if (!no_rules.empty()) {
    if (!given) return {core_default, "auto", fmt::format("{}: no automatic rule; Megatron Core's default", no_rules)};
    if (!skipped_with_the_rules(r, path) || requested == core_default)
      return {requested, "user", r.set_at(path) + (one_rank(r) ? "; no effect: data_parallel_size is 1" : "")};
    return {core_default, "gate",
            fmt::format("{}, so Megatron-Bridge skips what stands under comm_overlap; write it under ddp to keep it",
                        no_rules)};
  }
  if (one_rank(r)) {
    const std::string why = why_off_on_one_rank(r);
    if (given && requested != off) return {off, "gate", why};
    return {off, given ? "user" : "auto", why};
  }
  if (given) return {requested, "user", r.set_at(path)};
  return {automatic, "auto", fmt::format("data_parallel_size is {}, above 1", dp)};
}

void decide_overlap(Resolution& r, std::string_view path, bool& field, std::string_view departure) {
  Decision decision = decide_dp_knob(r, path, true, false, false);
  field = std::get<bool>(decision.effective);
  if (field && !one_rank(r)) decision.reason += fmt::format("; unlike Megatron, {}", departure);
  r.decide(path, std::move(decision));
}

/// What Megatron Core takes where bucket_size is None: nothing without overlap, else 40 million parameters or more.
std::optional<std::int64_t> core_bucket(const Config& config) {
  if (!config.ddp.overlap_grad_reduce) return std::nullopt;
  return std::max<std::int64_t>(40'000'000, 1'000'000 * std::int64_t{config.parallel.data_parallel_size});
}

void decide_bucket(Resolution& r) {
  Decision decision = decide_dp_knob(r, kBucket, kBridgeBucket, {}, to_value(core_bucket(r.config())));
  const DdpConfig& ddp = r.config().ddp;
  auto& bucket = r.config().ddp.bucket_size;
  assign(bucket, decision.effective);
  if (bucket && !ddp.overlap_grad_reduce && !ddp.overlap_param_gather) {
    const std::string_view why = "neither gradients nor parameters overlap, so each has one bucket";
    decision.reason += fmt::format("; no effect: {}", why);
    r.notice({kBucket, kGrads, kParams}, fmt::format("bucket_size has no effect: {}", why));
    bucket.reset();
  } else if (bucket && r.config().optimizer.overlap_param_gather_with_optimizer_step) {
    decision.reason += "; no effect: overlap_param_gather_with_optimizer_step leaves one bucket a chunk";
    bucket.reset();
  }
  r.decide(kBucket, std::move(decision));
}

void check_contradictions(Resolution& r) {
  const DdpConfig& ddp = r.config().ddp;
  if (ddp.overlap_param_gather && !ddp.use_distributed_optimizer)
    r.error({kParams},
            "overlap_param_gather needs ddp.use_distributed_optimizer: without it parameters are not gathered; "
            "set one of them to the other's value");
  if (r.settings.given("ddp.num_buckets") && r.settings.given(kBucket))
    r.error({"ddp.num_buckets"}, "ddp.num_buckets and bucket_size exclude each other; keep one of them");
}

/// With fp32 gradients every sum is in fp32 already.
void decide_fp32_accumulation(Resolution& r) {
  constexpr std::string_view kPath = "ddp.reduce_scatter_with_fp32_accumulation";
  DdpConfig& ddp = r.config().ddp;
  if (!ddp.reduce_scatter_with_fp32_accumulation || !ddp.grad_reduce_in_fp32) return;
  ddp.reduce_scatter_with_fp32_accumulation = false;
  r.decide(kPath, {false, "gate",
                   "grad_reduce_in_fp32 is true: gradients travel and are summed in fp32 already; set "
                   "mixed_precision.grad_reduce_in_fp32 to false to send bf16"});
}

/// Each instance shards a whole optimizer state over its ranks; gradients are summed over instances besides.
void check_instances(Resolution& r) {
  constexpr std::string_view kPath = "ddp.num_distributed_optimizer_instances";
  const DdpConfig& ddp = r.config().ddp;
  const ParallelConfig& p = r.config().parallel;
  const std::int64_t ranks = std::int64_t{p.data_parallel_size} * p.context_parallel_size;
  const std::int32_t instances = ddp.num_distributed_optimizer_instances;
  if (instances < 2) return;
  if (ranks % instances != 0)
    r.error({kPath}, fmt::format("{} is {}, which does not divide data_parallel_size * context_parallel_size ({}); set "
                                 "it to a divisor",
                                 kPath, instances, ranks));
  if (!ddp.use_distributed_optimizer)
    r.error({kPath},
            fmt::format("{} is {} and needs ddp.use_distributed_optimizer; set that to true, or leave this out", kPath,
                        instances));
  if (ddp.reduce_scatter_with_fp32_accumulation)
    r.error({kPath}, fmt::format("{} above 1 and ddp.reduce_scatter_with_fp32_accumulation exclude each other; keep "
                                 "one of them",
                                 kPath));
}

}  // namespace

void apply_dp_rules(Resolution& r) {
  DdpConfig& ddp = r.config().ddp;
  decide_overlap(r, kGrads, ddp.overlap_grad_reduce,
                 "overlaps from the first step on, because the bucket order is known from the model");
  decide_overlap(r, kParams, ddp.overlap_param_gather, "does not need overlap_grad_reduce: each has its own buckets");
  decide_bucket(r);
  decide_fp32_accumulation(r);
  check_contradictions(r);
  check_instances(r);
}

}  // namespace underlap::plan
