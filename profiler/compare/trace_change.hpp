// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/compute_change.hpp"
#include "profiler/analysis/split.hpp"
#include "profiler/analysis/summary.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::compare {

/// One side of a comparison: a trace and its summary, which tells the steps. Both are borrowed.
struct Side {
  const Trace& trace;
  const analysis::Summary& summary;
};

/// What an operation of one side has on the other.
enum class Match : std::uint8_t { both, added, removed };

/// "both", "added", "removed".
std::string_view to_string(Match);

/// What one operation, at all its places in the compared steps, did to the step. Nanoseconds, sums over the windows.
struct OperationChange {
  std::string name;     ///< its purpose, or else the kernel's name; of idle time "idle"
  std::string kind;     ///< "compute", "communication", "copy", "idle"
  std::string mode;     ///< of communication: "dp", ...; empty otherwise
  std::string purpose;  ///< empty where it is not known
  std::string stream;   ///< that it runs on, as the trace names it
  std::int32_t first_layer = -1;
  std::int32_t last_layer = -1;  ///< -1: of no layer
  Match match = Match::both;
  std::int64_t from_count = 0;
  std::int64_t to_count = 0;
  std::int64_t from_busy_ns = 0;  ///< durations within the windows
  std::int64_t to_busy_ns = 0;
  std::int64_t from_step_ns = 0;  ///< what of the step is its own: every instant belongs to one operation alone
  std::int64_t to_step_ns = 0;

  std::int64_t step_delta_ns() const { return to_step_ns - from_step_ns; }
};

/// How two sides' steps differ. All times are sums over as many windows of either side, in nanoseconds, and exact:
///   to.window_ns - from.window_ns = contention + decomposition - concurrency
///                                   + exposed (by modes; or wait, transfer and unsplit) + copy_only + idle
/// and the operations' step_delta_ns() sum to the same difference.
struct TraceChange {
  std::int64_t windows = 0;           ///< of each side, over ranks and steps
  std::vector<std::string> left_out;  ///< a sentence for each thing that has no counterpart: steps, ranks
  analysis::Split from;
  analysis::Split to;
  analysis::ComputeChange compute;
  std::vector<OperationChange> operations;  ///< by size of what they did to the step, largest first
  bool is_matched_by_tags = false;          ///< false: by name, launch shape and order
};

/// Compares as many steps of either side as both have, rank by rank. Operations are matched by their tags where both
/// sides have them, else by name, launch shape and order within the step. Throws std::invalid_argument where no rank
/// has a step on both sides.
TraceChange compare_traces(const Side& from, const Side& to);

}  // namespace underlap::compare
