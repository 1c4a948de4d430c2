// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/critical_path.hpp"

#include "profiler/analysis/mode_name.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::graph {
namespace {

constexpr EnumNames<PathKind, 6> kPathKinds{{"compute", "communication", "copy", "launch", "host", "gap"}};

constexpr std::uint32_t kNone = Graph::kNone;

class PathFinder {
 public:
  PathFinder(const Graph& graph, const Gaps& gaps) : graph_(graph), gaps_(gaps), is_visited_(graph.nodes().size()) {
    for (std::uint32_t i = 0; i < graph.nodes().size(); ++i)
      if (node(i).kind == NodeKind::work) by_end_[node(i).rank].push_back(i);
    for (auto& [rank, nodes] : by_end_)
      std::ranges::stable_sort(nodes, [&](std::uint32_t a, std::uint32_t b) { return ends_before(a, b); });
  }

  CriticalPath find(const analysis::Interval& span) {
    path_.span = span;
    time_ = span.end;
    std::uint32_t current = last_before(span.end);
    if (current == kNone) return close(kNone);
    add(PathKind::gap, current, node(current).end_ns());
    while (time_ > span.begin) {
      is_visited_[current] = true;
      add(kind_of(node(current)), current, node(current).start_ns);
      if (time_ <= span.begin) break;
      const std::uint32_t before = follow(current);
      if (before == kNone) return close(current);
      if (node(before).rank != node(current).rank) ++path_.num_changes;
      current = before;
    }
    return close(current);
  }

 private:
  const Node& node(std::uint32_t i) const { return graph_.nodes()[i]; }
  bool ends_before(std::uint32_t a, std::uint32_t b) const {
    if (node(a).end_ns() != node(b).end_ns()) return node(a).end_ns() < node(b).end_ns();
    return node(a).start_ns < node(b).start_ns;
  }

  static PathKind kind_of(const Node& node) {
    switch (node.work) {
      case Kind::compute: return PathKind::compute;
      case Kind::communication: return PathKind::communication;
      case Kind::copy: return PathKind::copy;
      case Kind::none: break;
    }
    return PathKind::host;
  }

  // The node before, after the piece between the two was added.
  std::uint32_t follow(std::uint32_t current) {
    const std::uint32_t binding = gaps_.binding[current];
    if (binding == kNone) return guess(current);
    const Edge& edge = graph_.edges()[binding];
    if (is_visited_[edge.from]) return kNone;
    const PathKind kind = edge.kind == EdgeKind::launch       ? PathKind::launch
                          : edge.kind == EdgeKind::host_order ? PathKind::host
                                                              : PathKind::gap;
    const Node& from = node(edge.from);
    add(kind, current, edge.from_start ? from.start_ns : from.end_ns());
    path_.guessed_edges += edge.is_guessed ? 1 : 0;
    return edge.from;
  }

  std::uint32_t guess(std::uint32_t current) {
    const auto rank = by_end_.find(node(current).rank);
    const std::uint32_t before = rank == by_end_.end() ? kNone : last_by(rank->second, time_);
    if (before == kNone) return kNone;
    add(node(current).kind == NodeKind::call ? PathKind::launch : PathKind::gap, current, node(before).end_ns());
    ++path_.guessed_edges;
    return before;
  }

  // The unvisited node that ends last by `time`, of nodes in order of their ends.
  std::uint32_t last_by(const std::vector<std::uint32_t>& by_end, std::int64_t time) const {
    auto next = std::ranges::upper_bound(by_end, time, {}, [&](std::uint32_t i) { return node(i).end_ns(); });
    while (next != by_end.begin())
      if (!is_visited_[*--next]) return *next;
    return kNone;
  }

  std::uint32_t last_before(std::int64_t time) const {
    std::uint32_t best = kNone;
    for (const auto& [rank, nodes] : by_end_) {
      const std::uint32_t last = last_by(nodes, time);
      if (last != kNone && (best == kNone || node(last).end_ns() > node(best).end_ns())) best = last;
    }
    return best;
  }

  // Adds what lies between `begin` and what was added last, cut at the span; pieces are in reverse order until close().
  void add(PathKind kind, std::uint32_t current, std::int64_t begin) {
    begin = std::max(begin, path_.span.begin);
    if (begin >= time_) return;
    const Node& n = node(current);
    const std::int64_t length = time_ - begin;
    path_.pieces.push_back({n.rank, kind, n.slice, begin, time_});
    path_.kinds[kind] += length;
    path_.ranks[n.rank] += length;
    time_ = begin;
    if (kind == PathKind::communication) path_.modes[analysis::mode_name(n.mode)] += length;
  }

  // Before this moment nothing ran that the path could come from.
  CriticalPath close(std::uint32_t next) {
    if (time_ > path_.span.begin && next != kNone) {
      add(node(next).kind == NodeKind::call ? PathKind::host : PathKind::gap, next, path_.span.begin);
    } else if (time_ > path_.span.begin) {
      path_.pieces.push_back({0, PathKind::gap, 0, path_.span.begin, time_});
      path_.kinds[PathKind::gap] += time_ - path_.span.begin;
      path_.ranks[0] += time_ - path_.span.begin;
    }
    std::ranges::reverse(path_.pieces);
    return std::move(path_);
  }

  const Graph& graph_;
  const Gaps& gaps_;
  std::vector<bool> is_visited_;
  std::map<std::int32_t, std::vector<std::uint32_t>> by_end_;  ///< work of a rank
  CriticalPath path_;
  std::int64_t time_ = 0;  ///< until which the path was followed
};

}  // namespace

std::string_view to_string(PathKind kind) { return kPathKinds[kind]; }

analysis::Interval span_of_all(const Graph& graph) {
  std::optional<analysis::Interval> span;
  for (const Node& node : graph.nodes()) {
    if (node.work == Kind::none) continue;
    if (!span) span = analysis::Interval{node.start_ns, node.end_ns()};
    span->begin = std::min(span->begin, node.start_ns);
    span->end = std::max(span->end, node.end_ns());
  }
  return span.value_or(analysis::Interval{});
}

CriticalPath find_critical_path(const Graph& graph, const Gaps& gaps, const analysis::Interval& span) {
  return PathFinder(graph, gaps).find(span);
}

}  // namespace underlap::graph
