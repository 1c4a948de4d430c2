// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/intervals.hpp"
#include "profiler/graph/graph.hpp"
#include "profiler/graph/replay.hpp"

namespace underlap::graph {

/// What a piece of the critical path is.
enum class PathKind : std::uint8_t {
  compute,
  communication,  ///< from its last arrival on; before that the path runs on the rank that arrived last
  copy,
  launch,  ///< from the start of the call to the start of the work that it launched
  host,    ///< a host thread runs, in calls or between them, before it launches what comes next
  gap      ///< nothing on the path ran, for a reason that the trace does not show
};

/// "compute", ...
std::string_view to_string(PathKind);

/// A piece of the critical path, on the clock of all ranks.
struct PathPiece {
  std::int32_t rank = 0;
  PathKind kind = PathKind::gap;
  std::uint32_t slice = 0;  ///< that runs; of launch and gap, the one that comes after
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  std::int64_t length_ns() const { return end_ns - begin_ns; }
  friend bool operator==(const PathPiece&, const PathPiece&) = default;
};

/// A chain of work over all ranks, each waiting for the one before, that fills a stretch of time.
struct CriticalPath {
  analysis::Interval span;                     ///< on the clock of all ranks
  std::vector<PathPiece> pieces;               ///< in order of time, without holes: they sum to the span
  std::map<PathKind, std::int64_t> kinds;      ///< their lengths by kind, which sum to the span
  std::map<std::string, std::int64_t> modes;   ///< communication by mode: "dp", ..., "unattributed"
  std::map<std::int32_t, std::int64_t> ranks;  ///< by rank; these sum to the span too
  std::int64_t num_changes = 0;                ///< from one rank to another
  std::int64_t guessed_edges = 0;              ///< edges on it that the trace does not prove
};

/// The first start to the last end of all work, on the clock of all ranks; {0, 0} where there is none.
analysis::Interval span_of_all(const Graph&);

/// Follows the critical path back from the end of `span`: from the work that ends last in it, always over the edge that
/// bound (`gaps`). A node that no edge leads to is taken to follow the work of its rank that ended last before it.
CriticalPath find_critical_path(const Graph&, const Gaps& gaps, const analysis::Interval& span);

}  // namespace underlap::graph
