// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/config.hpp"

namespace underlap::plan {

/// A schedule that a pipeline can be asked to run. The plan sees no technique: a schedule's file makes it known here.
struct PipelineSchedule {
  std::string_view name;
  /// Why a pipeline cannot run it under this configuration, in words; empty: it can.
  std::string (*refusal)(const Config& config);
};

/// Throws std::logic_error where the name is taken.
void add_pipeline_schedule(const PipelineSchedule& schedule);

/// All that are linked in, sorted by name.
std::span<const PipelineSchedule> pipeline_schedules();
std::vector<std::string_view> pipeline_schedule_names();

/// The name of the schedule that `config` puts in effect: extensions.pipeline_schedule, and where nobody asked for one
/// what Megatron runs. A stage alone has none to choose.
std::string_view schedule_in_effect(const Config& config);

}  // namespace underlap::plan
