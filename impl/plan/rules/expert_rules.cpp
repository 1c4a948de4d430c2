// SPDX-License-Identifier: Apache-2.0
// Models with experts. Their dense part is planned: attention, norms, embedding and head as they are, and each MLP as
// one of ffn_hidden_size. The checks of Megatron-Bridge and Megatron Core for experts are made, and the limits of a
// plan of the dense part are listed.
#include <fmt/format.h>

#include <vector>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kExperts = "model.num_moe_experts";
constexpr std::string_view kExpertSize = "model.expert_model_parallel_size";
constexpr std::string_view kExpertOverlap = "comm_overlap.overlap_moe_expert_parallel_comm";
constexpr std::string_view kDelay = "comm_overlap.delay_wgrad_compute";

void check_size(Resolution& r) {
  const std::int64_t size = r.settings.integer(kExpertSize, 1), experts = r.settings.integer(kExperts, 1);
  if (size > 1 && !r.settings.given(kExperts))
    r.error({kExpertSize}, fmt::format("expert_model_parallel_size is {}, but the model has no experts: Megatron Core "
                                       "fails without num_moe_experts; set both or neither",
                                       size));
  else if (experts % size != 0)
    r.error({kExpertSize, kExperts}, fmt::format("num_moe_experts is {}, which is not divisible by "
                                                 "expert_model_parallel_size ({}); make it a multiple of {}",
                                                 experts, size, size));
}

/// In the order in which Bridge asserts.
std::vector<std::string> missing_for_overlap(const Resolution& r) {
  std::vector<std::string> missing;
  const auto text = [&](std::string_view path, std::string_view otherwise) { return r.settings.text(path, otherwise); };
  const std::string dispatcher = text("model.moe_token_dispatcher_type", "allgather");
  if (r.settings.integer(kExpertSize, 1) <= 1) missing.push_back("expert_model_parallel_size above 1");
  if (r.settings.integer(kExperts, 1) <= 1) missing.push_back("num_moe_experts above 1");
  if (dispatcher != "alltoall" && dispatcher != "flex") missing.push_back("moe_token_dispatcher_type alltoall or flex");
  if (in_scope(Scope::pp, r) && !r.settings.given(kVpp)) missing.push_back("virtual_pipeline_model_parallel_size");
  if (text("model.recompute_granularity", "") == "full") missing.push_back("recompute_granularity other than full");
  if (r.settings.given("model.recompute_method")) missing.push_back("no recompute_method");
  if (r.settings.given("model.recompute_num_layers")) missing.push_back("no recompute_num_layers");
  if (r.settings.flag("model.moe_shared_expert_overlap", false)) missing.push_back("moe_shared_expert_overlap false");
  if (r.settings.integer("model.mtp_num_layers", 0) > 1) missing.push_back("mtp_num_layers of at most 1");
  return missing;
}

void check_overlap(Resolution& r) {
  const bool overlaps = r.settings.flag(kExpertOverlap, false);
  const std::vector<std::string> missing = missing_for_overlap(r);
  if (overlaps && !missing.empty())
    r.error({kExpertOverlap}, fmt::format("overlap_moe_expert_parallel_comm needs {}: Megatron-Bridge fails without "
                                          "it; set what is missing, or leave it out",
                                          fmt::join(missing, ", ")));
  if (r.settings.flag(kDelay, false) && !overlaps)
    r.error(
        {kDelay},
        "delay_wgrad_compute needs overlap_moe_expert_parallel_comm: Megatron-Bridge fails without it; leave it out");
}

// Of any model: Megatron Core takes both old names for the new one, unless that is set.
void check_dispatcher(Resolution& r) {
  constexpr std::string_view kDeep = "model.moe_deepep_num_sms", kHybrid = "model.moe_hybridep_num_sms";
  constexpr std::string_view kUnified = "model.moe_flex_dispatcher_num_sms";
  if (!r.settings.given(kDeep) || !r.settings.given(kHybrid) || r.settings.given(kUnified)) return;
  const std::int64_t deep = r.settings.integer(kDeep, 0), hybrid = r.settings.integer(kHybrid, 0);
  if (deep != hybrid)
    r.error({kDeep, kHybrid},
            fmt::format("moe_deepep_num_sms is {} and moe_hybridep_num_sms {}: both are aliases of "
                        "moe_flex_dispatcher_num_sms, and Megatron Core fails if they differ; set only that one",
                        deep, hybrid));
}

}  // namespace

void apply_expert_rules(Resolution& r) {
  check_size(r);
  check_dispatcher(r);
  check_overlap(r);
  if (!in_scope(Scope::moe, r)) return;
  r.notice({kExperts},
           fmt::format("only the dense part of a model with {} experts is planned, each MLP with ffn_hidden_size {}; "
                       "the plan omits the router, the weights of the experts and their buckets over "
                       "expert-data-parallel ranks, the all-to-all of tokens and its exposed time, and their memory",
                       r.settings.integer(kExperts, 1), r.config().model.ffn_hidden_size));
}

}  // namespace underlap::plan
