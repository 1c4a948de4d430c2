// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/makespan.hpp"
#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// What a launch, an upload or a call of `program` takes on a machine that it has to itself, for step_bounds().
///
/// Rounded down everywhere, since a bound must never be above what an engine plays. A kernel needs of the device what
/// its blocks would take if they were packed without a gap, so several streams of GEMMs are bound by the whole device
/// together. The parts of a call run at once, each at the rate of its own; each direction of a link carries its bytes
/// at the line rate.
CommandTime time_alone(const TimeModel& time, const Program& program, const ProgramCommand& command);

}  // namespace underlap::sim
