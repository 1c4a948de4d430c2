// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// What a piece of the critical path is.
enum class PathKind : std::uint8_t {
  compute,
  communication,  ///< from its last arrival on; before it the path runs on the rank that came last
  copy,
  launch,  ///< nothing ran, and the call that enqueued what ran next had not ended
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
  Interval span;                               ///< on the clock of all ranks
  std::vector<PathPiece> pieces;               ///< in order of time, without holes: they sum to the span
  std::map<PathKind, std::int64_t> kinds;      ///< their lengths by kind, which sum to the span
  std::map<std::string, std::int64_t> modes;   ///< communication by mode: "dp", ..., "unattributed"
  std::map<std::int32_t, std::int64_t> ranks;  ///< by rank; these sum to the span too
  std::int64_t num_changes = 0;                ///< from one rank to another
};

/// The first start to the last end of all work, on the clock of all ranks; {0, 0} where there is none.
Interval span_of_all(const Trace&, const Communications&);

/// Follows the critical path back from the end of `span`.
///
/// It begins with the work that ends last in the span. What runs is preceded by: the start of the member that came
/// last, of a matched communication that waited; else the work from which the trace draws a dependency to it, or to the
/// wait before it on its stream, and the work before it on its stream, whichever ended last; and where the trace draws
/// none, the work of its rank that ended last before it began. That last rule takes for a dependency what merely ended
/// first. In n log n.
CriticalPath find_critical_path(const Trace&, const Communications&, const Interval& span);

}  // namespace underlap::analysis
