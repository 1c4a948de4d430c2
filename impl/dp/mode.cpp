// SPDX-License-Identifier: Apache-2.0
// Data parallelism, as the rest of the program asks for it.
#include "impl/device/mode_techniques.hpp"
#include "impl/dp/technique.hpp"
#include "impl/plan/layout/chunk_buckets.hpp"

namespace underlap::dp {
namespace {

std::vector<ListedTechnique> all() { return listed<GradReduces, ParamGathers>(Mode::dp); }

std::int64_t num_replicas(const plan::Config& config) {
  return std::int64_t{config.parallel.data_parallel_size} * config.parallel.context_parallel_size;
}

std::vector<TechniqueInEffect> in_effect(const plan::Config& config) {
  if (num_replicas(config) == 1) return {};
  TechniqueInEffect reduce = in_effect_of<GradReduces>(Mode::dp, config);
  reduce.reduces = true;
  return {reduce, in_effect_of<ParamGathers>(Mode::dp, config)};
}

bool is_foreign_grad_reduce(const plan::Config& config, const Tag& tag) {
  const std::string_view collective = name_of(tag.purpose);
  if (!config.ddp.use_distributed_optimizer) return collective == "all_reduce";
  return collective == "reduce_scatter" ||
         (config.ddp.reduce_scatter_with_fp32_accumulation && collective == "all_to_all");
}

std::vector<OverlapSwitch> switches(const plan::Plan& plan) {
  const plan::Config& config = plan.config;
  OverlapSwitch reduce = switch_of("comm_overlap.overlap_grad_reduce", plan, num_replicas(config), all());
  reduce.is_foreign = [&config](const Tag& tag) { return is_foreign_grad_reduce(config, tag); };
  OverlapSwitch gather = switch_of("comm_overlap.overlap_param_gather", plan, plan::instance_size(config), all());
  gather.is_foreign = [](const Tag& tag) { return name_of(tag.purpose) == "all_gather"; };
  return {reduce, gather};
}

const RegisterMode kRegister{{Mode::dp, all, in_effect, switches}};

}  // namespace
}  // namespace underlap::dp
