// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::plan {

struct Config;

/// The most microbatches of a stage's chunk at once.
struct InFlight {
  std::int64_t activations = 0;  ///< whose forward pass has begun and whose backward pass has not ended
  std::int64_t gradients = 0;    ///< whose backward pass is between its halves, the running one included
};

/// A schedule that a pipeline can be asked to run. The plan sees no technique: a schedule's file makes it known here.
struct PipelineSchedule {
  std::string_view name;
  /// Why a pipeline cannot run it under this configuration, in words; empty: it can.
  std::string (*refusal)(const Config& config);
  /// Backward passes run in halves: the gradients of inputs, and later those of the weights.
  bool splits_backward = false;
  /// Of a stage with one chunk.
  std::function<InFlight(const Config& config, std::int32_t stage)> in_flight = {};
};

/// Throws std::logic_error where the name is taken.
void add_pipeline_schedule(const PipelineSchedule& schedule);

/// All that are linked in, sorted by name.
std::span<const PipelineSchedule> pipeline_schedules();
std::vector<std::string_view> pipeline_schedule_names();

/// The name of the effective schedule of `config`: extensions.pipeline_schedule, or Megatron's schedule if it is not
/// set. A single stage always has "single_stage".
std::string_view schedule_in_effect(const Config& config);
/// The same; nullptr if it is not linked.
const PipelineSchedule* find_schedule_in_effect(const Config& config);

/// Whether it runs backward passes in halves.
bool splits_backward(const Config& config);

}  // namespace underlap::plan
