// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/rank_layouts.hpp"

#include <variant>

namespace underlap::plan {
namespace {

// No technique of this version uses experts, so the plan has their size as a knob alone.
std::int32_t expert_parallel_size(const Plan& plan) {
  const Knob* knob = find_knob(plan, "model.expert_model_parallel_size");
  const auto* size = knob == nullptr ? nullptr : std::get_if<std::int64_t>(&knob->effective);
  return size == nullptr ? 1 : static_cast<std::int32_t>(*size);
}

}  // namespace

RankLayouts rank_layouts(const Plan& plan) {
  const ParallelConfig& p = plan.config.parallel;
  const RankDigit stages{.mode = Mode::pp, .size = p.pipeline_model_parallel_size, .has_pair_groups = true};
  RankLayouts layouts{.layouts = {{{.mode = Mode::tp, .size = p.tensor_model_parallel_size},
                                   {.mode = Mode::cp, .size = p.context_parallel_size},
                                   {.mode = Mode::dp, .size = p.data_parallel_size},
                                   stages}},
                      .joint_groups = {{.mode = Mode::dp, .layout = 0, .digits = {Mode::cp, Mode::dp}}}};
  const std::int32_t experts = expert_parallel_size(plan);
  const std::int32_t replicas = p.context_parallel_size * p.data_parallel_size;
  if (experts > 1 && replicas % experts == 0)
    layouts.layouts.push_back({{.mode = Mode::tp, .size = p.tensor_model_parallel_size, .has_part_groups = false},
                               {.mode = Mode::ep, .size = experts, .has_part_groups = false},
                               {.mode = Mode::dp, .size = replicas / experts, .has_part_groups = false},
                               {.mode = Mode::pp, .size = p.pipeline_model_parallel_size, .has_part_groups = false}});
  return layouts;
}

}  // namespace underlap::plan
