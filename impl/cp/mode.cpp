// SPDX-License-Identifier: Apache-2.0
// Context parallelism, as the rest of the program asks for it.
#include <algorithm>

#include "impl/cp/attention.hpp"
#include "impl/device/mode_techniques.hpp"

namespace underlap::cp {
namespace {

std::vector<ListedTechnique> all() { return listed<Attentions>(Mode::cp); }

std::vector<TechniqueInEffect> in_effect(const plan::Config& config) {
  const std::int32_t ranks = config.parallel.context_parallel_size;
  if (ranks == 1) return {};
  std::vector<plan::CpCommType> types = config.context.cp_comm_type;
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  std::vector<TechniqueInEffect> techniques;
  for (const plan::CpCommType type : types)
    techniques.push_back(in_effect_of<Attentions>(Mode::cp, choice_of(config, ranks, type)));
  return techniques;
}

// All communication of the mode counts, so that the result also shows that all_gather and a2a are not hidden.
std::vector<OverlapSwitch> switches(const plan::Plan& plan) {
  const std::int64_t ranks = plan.config.parallel.context_parallel_size;
  const bool is_on = plan.config.extensions.cp_overlap;
  return {{.knob = "extensions.cp_overlap",
           .effective = is_on,
           .is_on = is_on && ranks > 1,
           .group_size = ranks,
           .purposes = {""},
           .is_foreign = [](const Tag&) { return true; }}};
}

const RegisterMode kRegister{{Mode::cp, all, in_effect, switches}};

}  // namespace
}  // namespace underlap::cp
