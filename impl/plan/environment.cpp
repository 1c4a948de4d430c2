// SPDX-License-Identifier: Apache-2.0
// The launch environment, by the rules of Megatron-Bridge's PerfEnvPlugin (library version): 8 hardware queues; 32 on
// sm_100 where TP or CP meets DP or PP; 1 on older ones with TP or CP.
#include <fmt/format.h>

#include <array>

#include "impl/plan/resolution.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

EnvironmentVariable connections_by_rule(const Resolution& r) {
  const ParallelConfig& p = r.plan.config.parallel;
  const std::string arch = r.settings.text("environment.gpu_arch", "h100");
  const bool is_sm100 = architecture_of(arch) >= 100;
  const bool splits_layers = p.tensor_model_parallel_size > 1 || p.context_parallel_size > 1;
  const bool splits_batch = p.data_parallel_size > 1 || p.pipeline_model_parallel_size > 1;
  constexpr std::string_view kName = "CUDA_DEVICE_MAX_CONNECTIONS";
  if (is_sm100 && splits_layers && splits_batch)
    return {std::string(kName), "32", fmt::format("{} with TP or CP beside DP or PP: many streams at once", arch)};
  if (!is_sm100 && splits_layers)
    return {std::string(kName), "1", fmt::format("{} with TP or CP: launch order must be execution order", arch)};
  return {std::string(kName), "8",
          fmt::format("{} {}: CUDA's default", arch, splits_layers ? "without DP or PP" : "without TP or CP")};
}

EnvironmentVariable connections(const Resolution& r) {
  constexpr std::string_view kOverride = "environment.cuda_device_max_connections";
  EnvironmentVariable variable = connections_by_rule(r);
  if (!r.settings.given(kOverride)) return variable;
  const std::string by_rule = std::exchange(variable.value, fmt::format("{}", r.settings.integer(kOverride, 0)));
  variable.reason = fmt::format("{}; the rule gives {}", r.set_at(kOverride), by_rule);
  return variable;
}

}  // namespace

void plan_environment(Resolution& r) {
  auto& environment = r.plan.environment;
  environment.push_back(connections(r));
  if (r.settings.flag("environment.enable_layernorm_sm_margin", true))
    for (const std::string_view direction : {"FWD", "BWD"})
      environment.push_back({fmt::format("NVTE_{}_LAYERNORM_SM_MARGIN", direction),
                             fmt::format("{}", r.settings.integer("environment.layernorm_sm_margin", 16)),
                             "norm kernels want every SM and would wait for a collective that holds some"});
  constexpr std::string_view kChunk = "environment.nccl_pp_comm_chunksize";
  if (r.settings.given(kChunk) && r.config().parallel.pipeline_model_parallel_size > 1)
    environment.push_back(
        {"NCCL_P2P_NET_CHUNKSIZE", fmt::format("{}", r.settings.integer(kChunk, 0)), r.set_at(kChunk)});
}

}  // namespace underlap::plan
