// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/graph/graph.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::graph {

/// A graph while it is made of a trace; both outlive it.
struct Draft {
  static constexpr std::uint32_t kNone = Graph::kNone;

  Draft(const Trace&, const analysis::Communications&);

  const Trace& trace;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> entry;    ///< by slice: the node that starts when it does; kNone without one
  std::vector<std::uint32_t> exit;     ///< by slice: the node that ends when it does
  std::vector<std::uint32_t> call_of;  ///< by slice: the call that launched it; kNone where that is not known
  std::map<std::uint32_t, std::vector<std::uint32_t>> streams;  ///< by track: its work by start
  std::map<std::int32_t, std::vector<std::uint32_t>> by_end;    ///< by rank: its work by end
  std::set<std::int32_t> has_events;                            ///< ranks of which the trace itself draws event edges

  std::int64_t start(std::uint32_t slice) const;
  std::int64_t end(std::uint32_t slice) const;
  std::int32_t rank(std::uint32_t slice) const { return trace.track_of(slice).rank; }
  /// The work of a stream that starts first at or after a moment; kNone without one.
  std::uint32_t next_on_stream(std::uint32_t track, std::int64_t time_ns) const;
  /// The work before this one on its stream; kNone without one.
  std::uint32_t previous_on_stream(std::uint32_t slice) const;

  std::uint32_t add_node(std::uint32_t slice, NodeKind, std::int64_t start_ns, std::int64_t end_ns);
  void add_edge(std::uint32_t from_slice, std::uint32_t to_slice, EdgeKind, bool is_guessed);

 private:
  std::vector<std::int64_t> offset_ns_;  ///< by track
};

/// The nodes of all work, and the order on each stream.
void add_work(Draft&, const analysis::Communications&);
/// The calls of host threads that launch work or wait for it, with their edges. Adds the guessed event edges of ranks
/// whose trace holds cudaStreamWaitEvent calls but not what they wait for.
void add_calls(Draft&);
/// The event edges that the trace draws.
void add_events(Draft&);
/// Guessed edges to work that starts later than its other edges explain.
void add_late_starts(Draft&);

}  // namespace underlap::graph
