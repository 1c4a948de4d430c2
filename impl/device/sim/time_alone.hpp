// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "impl/device/makespan.hpp"
#include "impl/device/sim/call_times.hpp"
#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// The duration of a launch, an upload or a call on a machine without other work, for step_bounds().
///
/// Everything is rounded down, since a bound must never exceed a simulated time. A kernel needs the device for the time
/// of its blocks packed without gaps, so several streams of GEMMs are limited by the whole device together. The parts
/// of a call run at once, each at its own rate; each direction of a link carries its bytes at the line rate.
class TimesAlone {
 public:
  /// Both outlive this.
  TimesAlone(const TimeModel& time, const Program& program);

  CommandTime of(const ProgramCommand& command);

 private:
  CommandTime kernel(const KernelTime& time) const;
  CommandTime call(const CallTimes::Call& call) const;

  const TimeModel& time_;
  const Program& program_;
  DeviceLimits limits_;
  std::vector<std::optional<CommandTime>> launches_;  // by number of their cost
  CallTimes calls_;
};

}  // namespace underlap::sim
