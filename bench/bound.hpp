// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "impl/device/makespan.hpp"
#include "impl/device/sim/time_model.hpp"
#include "impl/plan/config.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// How long each place of the model computes in one step with no transfer beside it, in nanoseconds: the median over
/// ranks and measured steps of the place's total in a step.
class ComputeDurations {
 public:
  /// From the trace of a no_comm cell. Empty where it has no measured step.
  explicit ComputeDurations(const Trace& no_comm);

  /// purpose, layer, microbatch
  using Place = std::tuple<NameId, std::int32_t, std::int32_t>;

  std::optional<double> of(const Place& place) const;

 private:
  std::map<Place, double> median_ns_;
};

/// The rate at which transfers run with no compute beside them, in bytes on the wire per nanosecond: bytes over time
/// between the last arrival and the end, less the paced `latency_ns` of each, summed over a trace. Nullopt without
/// communication.
std::optional<double> transfer_rate_alone(const Trace& trace, double latency_ns);

/// The least time of a step of `config`, and where the durations come from.
struct StepBound {
  std::optional<StepBounds> ns;  ///< by its own schedule, and by any
  std::string source;            ///< or why there is none
};

/// Records the schedule of one step of `config` and lays durations on it: compute from `no_comm`, transfers from the
/// paced link where there is one, else from `off`, a trace of a cell whose transfers run alone; null: not measured.
/// No contention: what the transfers cost in CPU comes on top. The bounds themselves: step_bounds().
StepBound step_bound(const plan::Config& config, const ComputeDurations& compute, const Trace* off);

/// The same with the modelled durations of a machine. What a kernel needs of the device is what its blocks would take
/// of it if they were packed without a gap.
StepBound step_bound(const plan::Config& config, const sim::TimeModel& time);

}  // namespace underlap::bench
