// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "impl/device/makespan.hpp"
#include "impl/device/sim/call_times.hpp"
#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// What a launch, an upload or a call of a program takes on a machine that it has to itself, for step_bounds().
///
/// Rounded down everywhere, since a bound must never be above what an engine plays. A kernel needs of the device what
/// its blocks would take if they were packed without a gap, so several streams of GEMMs are bound by the whole device
/// together. The parts of a call run at once, each at the rate of its own; each direction of a link carries its bytes
/// at the line rate.
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
