// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "impl/device/makespan.hpp"
#include "impl/device/sim/time_model.hpp"
#include "profiler/analysis/durations.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::bench {

/// Compute time of each place of the model in one step, in nanoseconds. In a no_comm cell, no transfer runs at the same
/// time.
class ComputeDurations {
 public:
  /// The median of each place's times in `times`.
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
  std::string source;            ///< or why there is no bound
  /// Time of the step's kernels alone, by purpose, mean over the programs of the stages, nanoseconds.
  std::map<std::string, std::int64_t> kernel_ns = {};
};

/// Measured durations for a bound.
struct BoundDurations {
  const ComputeDurations& no_comm;
  /// Durations of the cell itself. Called at most once, and only if the step has a purpose that no_comm lacks: the
  /// copies and sums of a technique, which a run without transfers omits too. Empty: not measured.
  std::function<ComputeDurations()> own = {};
  const analysis::TransfersAlone* off = nullptr;  ///< for a cell whose transfers run alone; null: not measured
};

/// Records the schedule of one step of `config` and assigns durations to it: compute from `no_comm`, and from `own` the
/// purposes that no_comm lacks, which transfers may have slowed; transfers from the paced link if there is one, else
/// from `off`. Ignores contention: the CPU time of transfers comes on top. For the bounds themselves see step_bounds().
StepBound step_bound(const plan::Config& config, const BoundDurations& measured);

/// The same with the modelled durations of a machine. A kernel's share of the device is what its blocks would take if
/// they were packed without a gap.
StepBound step_bound(const plan::Config& config, const sim::TimeModel& time);

}  // namespace underlap::bench
