// SPDX-License-Identifier: Apache-2.0
// The launch environment, by the rules of Megatron-Bridge's PerfEnvPlugin (library version, removed 2026-07-20): 8
// hardware queues, 32 with a flex dispatcher. Then 32 on sm_100 with TP or CP and DP or PP, and 1 on older ones with TP
// or CP, unless the experts' all-to-all overlaps. Effective values also go to Config, for virtual time.
#include <fmt/format.h>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kConnections = "environment.cuda_device_max_connections";
constexpr std::string_view kMargin = "environment.layernorm_sm_margin";
constexpr std::string_view kEnableMargin = "environment.enable_layernorm_sm_margin";
constexpr std::string_view kFlex = "environment.moe_flex_dispatcher_backend";
constexpr std::string_view kAllToAll = "environment.a2a_overlap";
constexpr std::string_view kHighPriority = "environment.torch_nccl_high_priority";
constexpr std::string_view kChunk = "environment.nccl_pp_comm_chunksize";

struct Count {
  std::int32_t value;
  std::string reason;
};

Count connections_by_rule(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  const std::string& arch = r.plan.config.environment.gpu_arch;
  const bool is_sm100 = architecture_of(arch) >= 100;
  const bool splits_layers = ranks_sharing(Shared::weights, p) > 1 || ranks_sharing(Shared::tokens, p) > 1;
  const bool splits_batch = p.data_parallel_size > 1 || p.num_stages() > 1;
  const bool overlaps_all_to_all = r.settings.flag(kAllToAll, false);
  if (is_sm100 && splits_layers && splits_batch)
    return {32, fmt::format("{} with TP or CP and also DP or PP: many concurrent streams", arch)};
  if (!is_sm100 && splits_layers && !overlaps_all_to_all)
    return {1, fmt::format("{} with TP or CP: launch order must equal execution order", arch)};
  if (r.settings.given(kFlex))
    return {32, fmt::format("{} with {}: many concurrent streams", arch, r.settings.text(kFlex, ""))};
  if (!is_sm100 && splits_layers) return {8, fmt::format("{} with all-to-all overlap: CUDA's default", arch)};
  return {8, fmt::format("{} {}: CUDA's default", arch, splits_layers ? "without DP or PP" : "without TP or CP")};
}

void plan_connections(Resolution& r) {
  Count count = connections_by_rule(r);
  if (r.settings.given(kConnections))
    count = {static_cast<std::int32_t>(r.settings.integer(kConnections, 0)),
             fmt::format("{}; the rule gives {}", r.set_at(kConnections), count.value)};
  r.config().environment.cuda_device_max_connections = count.value;
  r.plan.environment.push_back(
      {"CUDA_DEVICE_MAX_CONNECTIONS", fmt::format("{}", count.value), count.reason, std::string(kConnections)});
}

void plan_margin(Resolution& r) {
  std::int32_t& margin = r.config().environment.layernorm_sm_margin;
  margin = 0;
  if (!r.settings.flag(kEnableMargin, true)) {
    if (r.settings.integer(kMargin, 0) > 0)
      r.decide(kMargin, {0, "gate", "enable_layernorm_sm_margin is false, so norm kernels leave no SM free"});
    return;
  }
  margin = static_cast<std::int32_t>(r.settings.integer(kMargin, 16));
  const std::string reason = "norm kernels use every SM and would wait for a collective that holds some";
  for (const std::string_view direction : {"FWD", "BWD"})
    r.plan.environment.push_back({fmt::format("NVTE_{}_LAYERNORM_SM_MARGIN", direction), fmt::format("{}", margin),
                                  reason, std::string(kMargin)});
}

// A hop of a ring and the kernel that should run during it become ready at the same time. With one queue the hop, which
// was launched first, gets its SMs first. With many queues the kernel may get them first and keep them to its end,
// unless the hop has priority. Source: launches by Megatron-Bridge's performance recipes, which set this together with
// 32 queues.
void plan_priority(Resolution& r) {
  constexpr std::string_view kReason =
      "many queues: without it a transfer waits for the kernel that it should overlap with";
  bool& is_high = r.config().environment.torch_nccl_high_priority;
  const bool by_rule = architecture_of(r.plan.config.environment.gpu_arch) >= 100 && connections_by_rule(r).value == 32;
  const bool is_given = r.settings.given(kHighPriority);
  if (!is_given && by_rule) {
    is_high = true;
    r.decide(kHighPriority, {true, "auto", std::string(kReason)});
  }
  if (is_high)
    r.plan.environment.push_back({"TORCH_NCCL_HIGH_PRIORITY", "1",
                                  is_given ? r.set_at(kHighPriority) : std::string(kReason),
                                  std::string(kHighPriority)});
}

void plan_nccl(Resolution& r) {
  EnvironmentConfig& environment = r.config().environment;
  if (r.settings.given(kChunk) && in_scope(Scope::pp, r)) {
    environment.nccl_pp_comm_chunksize = r.settings.integer(kChunk, 0);
    r.plan.environment.push_back({"NCCL_P2P_NET_CHUNKSIZE", fmt::format("{}", *environment.nccl_pp_comm_chunksize),
                                  r.set_at(kChunk), std::string(kChunk)});
  }
  // As in Megatron-Bridge's launcher: with registered buffers, NCCL needs few SMs or uses the switch.
  if (r.config().ddp.nccl_ub && in_scope(Scope::dp, r))
    for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_CTA_POLICY"})
      r.plan.environment.push_back({name, "1", r.set_at(kUserBuffers), std::string(kUserBuffers)});
  plan_priority(r);
}

// Loading a kernel at its first launch takes the driver's locks, which a spinning collective may hold. The kernels of
// an emulated link wait for no peer. Loading all of cuBLASLt and cuDNN takes seconds and gigabytes.
void plan_loading(Resolution& r) {
  const RunConfig& run = r.config().run;
  if (!run.traits().runs_on_gpus) return;
  if (run.emulated_link)
    r.plan.environment.push_back({"CUDA_MODULE_LOADING", "LAZY",
                                  "an emulated link has no spinning collective, so kernels load on first use", ""});
  else
    r.plan.environment.push_back(
        {"CUDA_MODULE_LOADING", "EAGER", "kernels that are loaded during a collective can hang", ""});
}

// From 2.22 on NCCL connects an algorithm at the first transfer that uses it, with allocations that may wait for a
// spinning kernel.
void plan_connecting(Resolution& r) {
  const RunConfig& run = r.config().run;
  if (run.traits().runs_on_gpus && !run.emulated_link)
    r.plan.environment.push_back(
        {"NCCL_RUNTIME_CONNECT", "0", "algorithms that connect during a collective can hang", ""});
}

}  // namespace

void plan_environment(Resolution& r) {
  plan_connections(r);
  plan_margin(r);
  plan_nccl(r);
  plan_loading(r);
  plan_connecting(r);
}

}  // namespace underlap::plan
