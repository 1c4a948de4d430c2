// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/compute_change.hpp"
#include "profiler/analysis/split.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/compare/operations.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::compare {

/// One side of a comparison: a trace and its summary, which has the steps. Both are borrowed.
struct Side {
  const Trace& trace;
  const analysis::Summary& summary;
};

/// How two sides' steps differ. All times are sums over as many windows of either side, in nanoseconds, and exact:
///   to.window_ns - from.window_ns = contention + decomposition - concurrency
///                                   + exposed (by modes; or wait, transfer and unsplit) + copy_only + idle
/// and the operations' step_delta_ns() sum to the same difference, net or not.
struct TraceChange {
  std::int64_t windows = 0;           ///< of each side, over ranks and steps
  std::vector<std::string> left_out;  ///< a sentence for each thing that has no counterpart: steps, ranks
  analysis::Split from;
  analysis::Split to;
  analysis::ComputeChange compute;
  std::vector<OperationChange> operations;  ///< by size of what they did to the step, largest first
  std::vector<NetOperation> net;            ///< the net changes, for tables and sentences
  bool is_matched_by_tags = false;          ///< false: by name, launch shape and order
};

/// What either side has by each key; a side that lacks one has `T()` there.
template <class T>
std::map<std::string, std::pair<T, T>> paired(const std::map<std::string, T>& from,
                                              const std::map<std::string, T>& to) {
  std::map<std::string, std::pair<T, T>> pairs;
  for (const auto& [key, value] : from) pairs[key].first = value;
  for (const auto& [key, value] : to) pairs[key].second = value;
  return pairs;
}

/// Compares the steps that both sides have, rank by rank; see pair_windows(). Operations are matched by their tags
/// where both sides have them, else by name, launch shape and order within the step. Throws std::invalid_argument where
/// no rank has a step on both sides.
TraceChange compare_traces(const Side& from, const Side& to);

}  // namespace underlap::compare
