// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/pipeline_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "impl/plan/config.hpp"

namespace underlap::plan {
namespace {

std::vector<PipelineSchedule>& registry() {
  static std::vector<PipelineSchedule> schedules;
  return schedules;
}

}  // namespace

void add_pipeline_schedule(const PipelineSchedule& schedule) {
  const auto place = std::ranges::lower_bound(registry(), schedule.name, {}, &PipelineSchedule::name);
  if (place != registry().end() && place->name == schedule.name)
    throw std::logic_error(fmt::format("two pipeline schedules are named {}", schedule.name));
  registry().insert(place, schedule);
}

std::span<const PipelineSchedule> pipeline_schedules() { return registry(); }

std::vector<std::string_view> pipeline_schedule_names() {
  std::vector<std::string_view> names;
  for (const PipelineSchedule& schedule : registry()) names.push_back(schedule.name);
  return names;
}

std::string_view schedule_in_effect(const Config& config) {
  if (config.parallel.num_stages() == 1) return "single_stage";
  if (config.extensions.pipeline_schedule) return *config.extensions.pipeline_schedule;
  if (config.pipeline.overlap_p2p_comm) return "overlapped";
  return config.parallel.is_interleaved() ? "interleaved" : "one_forward_one_backward";
}

const PipelineSchedule* find_schedule_in_effect(const Config& config) {
  const auto found = std::ranges::find(registry(), schedule_in_effect(config), &PipelineSchedule::name);
  return found == registry().end() ? nullptr : &*found;
}

bool splits_backward(const Config& config) {
  const PipelineSchedule* schedule = find_schedule_in_effect(config);
  return schedule != nullptr && schedule->splits_backward;
}

}  // namespace underlap::plan
