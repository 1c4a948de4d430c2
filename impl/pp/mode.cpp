// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism, as the rest of the program asks for it.
#include "impl/device/mode_techniques.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {
namespace {

std::vector<ListedTechnique> all() { return listed<Pipelines>(Mode::pp); }

std::vector<TechniqueInEffect> in_effect(const plan::Config& config) {
  if (config.parallel.pipeline_model_parallel_size == 1) return {};
  return {in_effect_of<Pipelines>(Mode::pp, config)};
}

std::vector<OverlapSwitch> switches(const plan::Plan& plan) {
  OverlapSwitch exchange =
      switch_of("comm_overlap.overlap_p2p_comm", plan, plan.config.parallel.pipeline_model_parallel_size, all());
  exchange.is_foreign = [](const Tag&) { return true; };
  exchange.waits_are_the_schedules = true;
  return {exchange};
}

const RegisterMode kRegister{{Mode::pp, all, in_effect, switches}};

}  // namespace
}  // namespace underlap::pp
