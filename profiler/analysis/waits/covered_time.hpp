// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/waits.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// How much of any stretch of time a set of moments covers, in logarithmic time.
class CoveredTime {
 public:
  CoveredTime() = default;
  explicit CoveredTime(const IntervalSet&);

  /// Length of the set within [begin, end), nanoseconds; 0 where end <= begin.
  std::int64_t within(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t before(std::int64_t time) const;

  std::vector<Interval> intervals_;
  std::vector<std::int64_t> length_before_;  ///< of the intervals before each one
};

/// The time that compute covers on each rank that has some, on the clock of the rank.
std::map<std::int32_t, CoveredTime> covered_by_compute(const Trace&);

/// A stretch of one rank's time in parts that sum to it.
struct TimeParts {
  std::int64_t compute_ns = 0;
  std::int64_t wait_ns = 0;           ///< for peers, under no compute
  std::int64_t communication_ns = 0;  ///< the rest of communication, under no compute
  std::int64_t copy_ns = 0;
  std::int64_t idle_ns = 0;

  std::int64_t length_ns() const { return compute_ns + wait_ns + communication_ns + copy_ns + idle_ns; }
  friend bool operator==(const TimeParts&, const TimeParts&) = default;
};

/// What one rank's device did at any time, on the clock of all ranks.
class RankTime {
 public:
  /// `slices`: the work of one rank, in any order.
  RankTime(const Trace&, const Communications&, const std::vector<std::uint32_t>& slices);

  TimeParts within(std::int64_t begin, std::int64_t end) const;
  std::int64_t compute_within(std::int64_t begin, std::int64_t end) const { return compute_.within(begin, end); }

 private:
  CoveredTime compute_, wait_, communication_, copy_;
};

/// Sets own_cause, cause_ns and kernel of `arrivals`, which are in order of last_ns, of all matches, where a wait is
/// longer than the clocks' uncertainty. `times` holds every rank with work.
void find_late_causes(const Trace&, const Communications&, const std::map<std::int32_t, RankTime>& times,
                      std::span<LateArrival> arrivals);

}  // namespace underlap::analysis
