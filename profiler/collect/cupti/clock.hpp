// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "profiler/collect/cupti/activities.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::cupti {

struct Api;

/// Now on CLOCK_MONOTONIC, nanoseconds: the clock of std::chrono::steady_clock, which the other backends record with.
std::int64_t monotonic_ns() noexcept;

/// The same moment on CLOCK_MONOTONIC (device_ns) and CLOCK_REALTIME (unix_ns): of several readings the one with the
/// least time around it, so a reading that was interrupted does not count.
ClockSnapshot clock_snapshot(std::int32_t rank);

/// One moment on the clock of CUPTI's records and on CLOCK_MONOTONIC, nanoseconds.
struct ClockPair {
  std::int64_t cupti_ns = 0;
  std::int64_t monotonic_ns = 0;
};

/// The present moment on both clocks. Throws MachineError if CUPTI returns no time.
ClockPair clock_pair(const Api&);

/// The line through two moments, which puts times of CUPTI's clock on CLOCK_MONOTONIC.
///
/// CUPTI's clock is the system's (CLOCK_REALTIME), which others set and slew. Giving CUPTI another one
/// (cuptiActivityRegisterTimestampCallback) is no way round: from CUDA 12.6 Update 2 to 13.0 Update 1 kernels may then
/// have no times (CUPTI's release notes of 13.1).
/// Fails when the clock was set (see was_set()) or slewed unevenly in between: times are then off by as much.
class ClockFit {
 public:
  /// Moments less than a millisecond apart give no rate: the clocks then run alike.
  ClockFit(const ClockPair& first, const ClockPair& last);

  std::int64_t monotonic_ns(std::int64_t cupti_ns) const;
  /// What CUPTI's clock gained between the moments.
  std::int64_t gained_ns() const { return (last_.cupti_ns - first_.cupti_ns) - elapsed_ns(); }
  std::int64_t elapsed_ns() const { return last_.monotonic_ns - first_.monotonic_ns; }
  /// Whether the system's clock was set between the moments, and not merely slewed: no line is right then.
  bool was_set() const;

 private:
  ClockPair first_;
  ClockPair last_;
  double rate_ = 1;
};

/// Puts all times on CLOCK_MONOTONIC. What ran on a device more than a millisecond before `since` or after `until`
/// (both CLOCK_MONOTONIC's) has a time of some other clock: it is dropped, and counted in `skipped`.
void to_monotonic(Activities&, const ClockFit&, std::int64_t since_ns, std::int64_t until_ns);

}  // namespace underlap::cupti
