// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/report/results.hpp"

namespace underlap::report {

/// The mean rank's window, mean over the steps that did not stall (stalls.hpp), in whole nanoseconds.
struct WindowParts {
  std::int64_t compute_ns = 0;  ///< compute_only + hidden
  std::int64_t exposed_ns = 0;
  std::int64_t copy_only_ns = 0;
  std::int64_t idle_ns = 0;

  std::int64_t window_ns() const { return compute_ns + exposed_ns + copy_only_ns + idle_ns; }
};

/// Why the mean window's compute changed: contention + decomposition - concurrency, exactly.
struct ComputeTimeChange {
  std::int64_t contention_ns = 0;     ///< the same kernels took longer
  std::int64_t decomposition_ns = 0;  ///< other kernels: chunks, sums, casts
  std::int64_t concurrency_ns = 0;    ///< more kernels ran at once
};

/// Where the time went from one cell to another: the parts' differences sum to the window's difference exactly.
struct TimeChange {
  WindowParts from;
  WindowParts to;
  std::optional<ComputeTimeChange> compute;  ///< absent in results of before it was kept

  std::int64_t window_delta_ns() const { return to.window_ns() - from.window_ns(); }
  std::int64_t compute_delta_ns() const { return to.compute_ns - from.compute_ns; }
};

/// Compares the steps of the blocks that both cells have. Returns nullopt where there is none with the recorder on in
/// both.
std::optional<TimeChange> where_time_went(const CellResult& from, const CellResult& to);

/// Time of one name in a step, mean over ranks and steps.
struct NamedTime {
  std::string name;  ///< "exposed ring_hop", "longer fc1_dgrad", "idle", "copy only"
  std::int64_t ns = 0;
};

/// What the mean window takes beyond bound_schedule, exactly:
/// excess_ns() = longer_ns() - concurrency_ns + parts.exposed_ns + parts.copy_only_ns + parts.idle_ns - forced_ns().
///
/// A bound gives the total time in which compute must wait, but not the reason. So this time is subtracted from all
/// time without compute, under no name.
struct Excess {
  std::int64_t bound_ns = 0;
  WindowParts parts;
  std::int64_t kernels_ns = 0;        ///< durations of the step's kernels
  std::int64_t kernels_alone_ns = 0;  ///< the same without anything else running, as in the bound
  std::vector<NamedTime> names;  ///< largest first, never negative: longer kernels and exposed transfers by purpose

  std::int64_t excess_ns() const { return parts.window_ns() - bound_ns; }
  std::int64_t longer_ns() const { return kernels_ns - kernels_alone_ns; }
  std::int64_t concurrency_ns() const { return kernels_ns - parts.compute_ns; }
  std::int64_t forced_ns() const { return bound_ns - kernels_alone_ns; }  ///< what the bound leaves without compute
};

/// Returns nullopt for a cell without bound, without recorder, or from results of before its kernels were kept.
std::optional<Excess> excess_over_bound(const CellResult& cell);

}  // namespace underlap::report
