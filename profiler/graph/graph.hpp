// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/trace/tag.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::graph {

/// What a node represents.
enum class NodeKind : std::uint8_t {
  work,     ///< an operation of a device; of a matched communication, its transfer after the last arrival
  arrival,  ///< one member reaches a matched communication; takes no time
  join,     ///< the last member has arrived; takes no time
  call      ///< a call of a host thread that launches work or waits for it
};

/// Why a node cannot start earlier.
enum class EdgeKind : std::uint8_t {
  stream,      ///< order on a stream
  launch,      ///< from the start of the call to the work that it enqueued
  event,       ///< from the work before an event record to the work after the wait for it
  host_wait,   ///< from work to the host call that waited for it, or to the work that the host enqueued next
  host_order,  ///< order of the calls of a host thread, and the hand-over between threads
  collective,  ///< members of a collective to their join, and back
  message,     ///< the two ends of a message to their join, and back
  resource     ///< the work that occupied the device before
};
inline constexpr std::size_t kNumEdgeKinds = static_cast<std::size_t>(EdgeKind::resource) + 1;

/// "stream", ...
std::string_view to_string(EdgeKind);

/// One operation as it was measured, in nanoseconds on the clock of all ranks. A wait is never part of a duration.
struct Node {
  std::int32_t rank = 0;
  std::uint32_t slice = 0;  ///< index into the trace; for a join, the last member
  NodeKind kind = NodeKind::work;
  Kind work = Kind::none;  ///< none: a call
  Mode mode = Mode::none;
  std::int32_t step = -1;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;

  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// `to` starts no earlier than `work_ns` and a gap after `from` ends.
struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  EdgeKind kind = EdgeKind::stream;
  bool is_guessed = false;   ///< the trace does not prove it
  bool from_start = false;   ///< counts from the start of `from` instead of its end
  std::int64_t work_ns = 0;  ///< host work between the two, or below 0 an overlap; no gap policy replaces it
};

/// Which edges to leave out.
struct EdgeFilter {
  std::optional<EdgeKind> without{};
  bool without_guessed = false;

  bool keeps(const Edge& edge) const { return edge.kind != without && !(without_guessed && edge.is_guessed); }
};

/// Operations of all ranks and what each one had to wait for. Acyclic.
class Graph {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Graph() = default;
  /// Sorts the edges by `to`, and the nodes topologically, as near to their measured starts as that allows. An edge
  /// whose source was measured to start after its target is dropped, and so are edges that close a cycle.
  Graph(std::vector<Node> nodes, std::vector<Edge> edges);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& edges() const { return edges_; }
  /// Indices of nodes, each after the sources of its edges.
  const std::vector<std::uint32_t>& order() const { return order_; }
  /// The edges that lead to a node, as a range of indices into edges().
  std::uint32_t first_edge(std::uint32_t node) const { return first_edge_[node]; }
  std::uint32_t last_edge(std::uint32_t node) const { return first_edge_[node + 1]; }
  /// How many edges contradicted the measured times, or each other.
  std::size_t num_dropped() const { return num_dropped_; }

  /// When `edge` lets its target start, as measured, before any gap.
  std::int64_t measured_ns(const Edge& edge) const {
    const Node& from = nodes_[edge.from];
    return (edge.from_start ? from.start_ns : from.end_ns()) + edge.work_ns;
  }

 private:
  void index_edges();
  void sort_nodes();

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> first_edge_;
  std::vector<std::uint32_t> order_;
  std::size_t num_dropped_ = 0;
};

/// Builds the execution graph of a trace that match_and_align has seen. In n log n.
///
/// Each operation of a device is a node; a matched communication is an arrival of each member, a join, and a transfer
/// of each member that lasts from the last arrival to its end. Host calls are nodes where they launch work or wait for
/// it. bench/METRICS.md lists the edges, and which of them are guessed.
Graph build_graph(const Trace&, const analysis::Communications&);

}  // namespace underlap::graph
