// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/config.hpp"
#include "impl/plan/pipeline_schedules.hpp"

namespace underlap::testing_support {

/// The schedules that a plain pipeline, of one chunk a stage, runs only where it is asked to.
inline std::vector<std::string> asked_schedules() {
  plan::Config plain;
  plain.parallel.pipeline_model_parallel_size = 2;
  std::vector<std::string> names;
  for (const plan::PipelineSchedule& schedule : plan::pipeline_schedules())
    if (schedule.name != plan::schedule_in_effect(plain) && schedule.refusal(plain).empty())
      names.emplace_back(schedule.name);
  return names;
}

}  // namespace underlap::testing_support
