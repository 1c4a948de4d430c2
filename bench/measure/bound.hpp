// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "impl/device/makespan.hpp"
#include "impl/device/sim/time_model.hpp"
#include "profiler/analysis/durations/place_times.hpp"
#include "profiler/analysis/durations/transfers_alone.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::bench {

/// How long each place of the model computes in one step, in nanoseconds: of a no_comm cell it is the time with no
/// transfer beside it.
class ComputeDurations {
 public:
  /// The median of what each place has in `times`.
  explicit ComputeDurations(const analysis::PlaceTimes& times);

  std::optional<double> of(const analysis::Place& place) const;

  /// Whether any place has this purpose.
  bool has(NameId purpose) const { return purposes_.contains(purpose); }

 private:
  std::map<analysis::Place, double> median_ns_;
  std::set<NameId> purposes_;
};

/// The least time of a step of `config`, and where the durations come from.
struct StepBound {
  std::optional<StepBounds> ns;  ///< by its own schedule, and by any
  std::string source;            ///< or why there is none
  /// What the kernels of the step take alone, by purpose, mean over the programs of the stages, nanoseconds.
  std::map<std::string, std::int64_t> kernel_ns = {};
};

/// Where the durations of a bound are measured.
struct BoundDurations {
  const ComputeDurations& no_comm;
  /// Of the cell itself. Asked for once at most, and only where the step has a purpose that no_comm has not: the copies
  /// and sums of a technique, which a run without transfers leaves out with it. Empty: not measured.
  std::function<ComputeDurations()> own = {};
  const analysis::TransfersAlone* off = nullptr;  ///< of a cell whose transfers run alone; null: not measured
};

/// Records the schedule of one step of `config` and lays durations on it: compute from `no_comm`, and from `own` the
/// purposes that no_comm does not have at all, which transfers may have slowed; transfers from the paced link where
/// there is one, else from `off`. No contention: what the transfers cost in CPU comes on top. The bounds themselves:
/// step_bounds().
StepBound step_bound(const plan::Config& config, const BoundDurations& measured);

/// The same with the modelled durations of a machine. What a kernel needs of the device is what its blocks would take
/// of it if they were packed without a gap.
StepBound step_bound(const plan::Config& config, const sim::TimeModel& time);

}  // namespace underlap::bench
