// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/replay.hpp"

#include <limits>

#include "platform/numbers/median.hpp"

namespace underlap::graph {
namespace {

constexpr int kRounds = 4;
constexpr std::size_t kNumEnds = 5;
constexpr std::size_t kNumClasses = kNumEdgeKinds * kNumEnds * kNumEnds * 2;

std::size_t end_class(const Node& node) {
  if (node.kind == NodeKind::join) return kNumEnds - 1;
  return static_cast<std::size_t>(node.work);
}

std::size_t class_of(const Graph& graph, const Edge& edge) {
  const Node& from = graph.nodes()[edge.from];
  const Node& to = graph.nodes()[edge.to];
  const std::size_t ends = end_class(from) * kNumEnds + end_class(to);
  const std::size_t crosses = from.step != to.step ? 1 : 0;
  return (static_cast<std::size_t>(edge.kind) * kNumEnds * kNumEnds + ends) * 2 + crosses;
}

struct Mean {
  std::int64_t sum_ns = 0;
  std::int64_t count = 0;
  std::int64_t mean_ns = 0;
};

class GapFinder {
 public:
  GapFinder(const Graph& graph, const EdgeFilter& filter) : graph_(graph), filter_(filter) {
    std::map<std::int32_t, std::size_t> ranks;
    for (const Node& node : graph.nodes()) ranks.emplace(node.rank, 0);
    std::size_t next = 0;
    for (auto& [rank, i] : ranks) i = next++;
    means_.resize(ranks.size() * kNumClasses);
    for (const Edge& edge : graph.edges())
      class_.push_back(
          static_cast<std::uint32_t>(ranks.at(graph.nodes()[edge.to].rank) * kNumClasses + class_of(graph, edge)));
    binding_.assign(graph.nodes().size(), Graph::kNone);
  }

  Gaps find() {
    for (int round = 0; round < kRounds; ++round) {
      find_binding();
      find_means();
    }
    Gaps gaps;
    const std::vector<Edge>& edges = graph_.edges();
    gaps.measured_ns.resize(edges.size());
    gaps.mean_ns.resize(edges.size());
    for (std::uint32_t i = 0; i < edges.size(); ++i) {
      const std::int64_t slack = slack_ns(i);
      gaps.mean_ns[i] = mean_of(i);
      gaps.measured_ns[i] = binding_[edges[i].to] == i ? slack : std::min(slack, mean_of(i));
    }
    gaps.binding = std::move(binding_);
    return gaps;
  }

 private:
  std::int64_t slack_ns(std::uint32_t edge) const {
    const Edge& e = graph_.edges()[edge];
    return graph_.nodes()[e.to].start_ns - graph_.measured_ns(e);
  }
  std::int64_t mean_of(std::uint32_t edge) const { return means_[class_[edge]].mean_ns; }

  void find_binding() {
    for (std::uint32_t node = 0; node < graph_.nodes().size(); ++node) {
      std::uint32_t& best = binding_[node] = Graph::kNone;
      for (std::uint32_t i = graph_.first_edge(node); i < graph_.last_edge(node); ++i) {
        if (!filter_.keeps(graph_.edges()[i])) continue;
        if (best == Graph::kNone || expected_ns(i) > expected_ns(best)) best = i;
      }
    }
  }

  std::int64_t expected_ns(std::uint32_t edge) const {
    return graph_.measured_ns(graph_.edges()[edge]) + mean_of(edge);
  }

  void find_means() {
    std::ranges::fill(means_, Mean{});
    for (const std::uint32_t edge : binding_) {
      if (edge == Graph::kNone) continue;
      Mean& mean = means_[class_[edge]];
      mean.sum_ns += slack_ns(edge);
      ++mean.count;
    }
    for (Mean& mean : means_)
      if (mean.count > 0) mean.mean_ns = (mean.sum_ns + mean.count / 2) / mean.count;
  }

  const Graph& graph_;
  const EdgeFilter& filter_;
  std::vector<std::uint32_t> class_;  ///< by edge
  std::vector<std::uint32_t> binding_;
  std::vector<Mean> means_;  ///< by rank and class
};

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

bool joins(const Edge& edge) { return edge.kind == EdgeKind::collective || edge.kind == EdgeKind::message; }

class Run {
 public:
  Run(const Graph& graph, std::span<const std::int64_t> gaps_ns, const EdgeFilter& filter, const Change& change)
      : graph_(graph), gaps_ns_(gaps_ns), filter_(filter), change_(change) {
    times_.start_ns.resize(graph.nodes().size());
    times_.end_ns.resize(graph.nodes().size());
  }

  Times play() {
    for (const std::uint32_t node : graph_.order()) {
      const Node& n = graph_.nodes()[node];
      const bool is_left_out = n.kind == NodeKind::work && is_of_left_out_mode(n);
      times_.start_ns[node] = start_of(node, n);
      times_.end_ns[node] = times_.start_ns[node] + (is_left_out ? 0 : n.duration_ns);
    }
    if (!caught_.empty()) catch_up();
    return std::move(times_);
  }

 private:
  // What a late rank did before `measured_ns` counts as over at `new_ns`.
  struct Caught {
    std::int64_t measured_ns = 0;
    std::int64_t new_ns = 0;
  };

  bool is_of_left_out_mode(const Node& node) const {
    return change_.without_mode && node.work == Kind::communication && node.mode == *change_.without_mode;
  }

  std::int64_t start_of(std::uint32_t node, const Node& n) {
    std::int64_t start = kNever;
    std::int64_t late = kNever;
    for (std::uint32_t i = graph_.first_edge(node); i < graph_.last_edge(node); ++i) {
      const Edge& edge = graph_.edges()[i];
      if (!filter_.keeps(edge)) continue;
      const Node& from = graph_.nodes()[edge.from];
      // The transfer follows its own arrival alone.
      if (n.kind == NodeKind::work && from.kind == NodeKind::join && is_of_left_out_mode(n)) continue;
      const std::int64_t time = time_of(edge, from, n) + edge.work_ns + gaps_ns_[i];
      std::int64_t& latest = is_lateness(edge, from, n) ? late : start;
      latest = std::max(latest, time);
    }
    if (start == kNever) return late == kNever ? n.start_ns : late;
    if (late > start && n.kind == NodeKind::join) caught_.push_back({n.start_ns, start});
    return start;
  }

  // Of the rank that may not be late: its arrival at a join, and its transfer's order after that arrival.
  bool is_lateness(const Edge& edge, const Node& from, const Node& to) const {
    return change_.without_rank && from.kind == NodeKind::arrival && from.rank == *change_.without_rank &&
           joins(edge) && !(edge.kind == EdgeKind::message && to.mode == Mode::pp);
  }

  std::int64_t time_of(const Edge& edge, const Node& from, const Node& to) const {
    const std::int64_t time = edge.from_start ? times_.start_ns[edge.from] : times_.end_ns[edge.from];
    if (!change_.without_rank || from.rank != *change_.without_rank || to.rank != from.rank) return time;
    return caught_up(edge.from_start ? from.start_ns : from.end_ns(), to.start_ns, time);
  }

  std::int64_t caught_up(std::int64_t measured_ns, std::int64_t until_ns, std::int64_t time_ns) const {
    const auto next = std::ranges::lower_bound(caught_, measured_ns, {}, &Caught::measured_ns);
    return next == caught_.end() || next->measured_ns > until_ns ? time_ns : std::min(time_ns, next->new_ns);
  }

  void catch_up() {
    for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.rank != *change_.without_rank) continue;
      times_.end_ns[i] = caught_up(node.end_ns(), kForever, times_.end_ns[i]);
      times_.start_ns[i] = std::min(times_.start_ns[i], times_.end_ns[i]);
    }
  }

  const Graph& graph_;
  std::span<const std::int64_t> gaps_ns_;
  const EdgeFilter& filter_;
  const Change& change_;
  Times times_;
  std::vector<Caught> caught_;  ///< in order of time
};

}  // namespace

Gaps measure_gaps(const Graph& graph, const EdgeFilter& filter) { return GapFinder(graph, filter).find(); }

Times replay(const Graph& graph, std::span<const std::int64_t> gaps_ns, const EdgeFilter& filter,
             const Change& change) {
  return Run(graph, gaps_ns, filter, change).play();
}

std::int64_t Durations::typical_ns() const {
  if (step_ns.empty()) return span_ns;
  return median(step_ns);
}

StepTimes::StepTimes(const Graph& graph, const analysis::Communications& communications,
                     std::span<const analysis::Window> steps)
    : graph_(graph) {
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i)
    if (graph.nodes()[i].kind == NodeKind::work) by_end_[graph.nodes()[i].rank].push_back(i);
  for (auto& [rank, nodes] : by_end_)
    std::ranges::stable_sort(nodes, {}, [&](std::uint32_t i) { return graph.nodes()[i].end_ns(); });
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> index;
  for (const analysis::Window& step : steps)
    if (by_end_.contains(step.rank)) index.emplace(std::pair(step.block, step.step), 0);
  for (auto& [key, i] : index) i = num_steps_++;
  for (const analysis::Window& step : steps) {
    if (!by_end_.contains(step.rank)) continue;
    const std::size_t i = index.at({step.block, step.step});
    add_border(step.rank, communications.common_ns(step.rank, step.begin_ns), i, false);
    add_border(step.rank, communications.common_ns(step.rank, step.end_ns), i, true);
  }
}

// A border is where work ends, mostly, and then follows that; else all that ended before.
void StepTimes::add_border(std::int32_t rank, std::int64_t time_ns, std::size_t step, bool is_end) {
  const std::vector<std::uint32_t>& nodes = by_end_.at(rank);
  const auto end = [&](std::uint32_t i) { return graph_.nodes()[i].end_ns(); };
  const auto later = std::ranges::upper_bound(nodes, time_ns, {}, end);
  Border border{.step = step, .is_end = is_end, .last = static_cast<std::size_t>(later - nodes.begin())};
  border.time_ns = time_ns;
  if (border.last > 0) border.after_ns = time_ns - end(nodes[border.last - 1]);
  if (border.last > 0 && border.after_ns == 0)
    border.first = static_cast<std::size_t>(std::ranges::lower_bound(nodes, time_ns, {}, end) - nodes.begin());
  borders_[rank].push_back(border);
}

Durations StepTimes::of(const Times& times) const {
  Durations durations;
  std::vector<std::int64_t> begin(num_steps_, kNever), end(num_steps_, kNever);
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = kNever;
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
    if (graph_.nodes()[i].work != Kind::none) first = std::min(first, times.start_ns[i]);
  for (const auto& [rank, nodes] : by_end_) {
    std::vector<std::int64_t> latest{kNever};  // of the first n nodes
    for (const std::uint32_t i : nodes) latest.push_back(std::max(latest.back(), times.end_ns[i]));
    last = std::max(last, latest.back());
    const auto borders = borders_.find(rank);
    if (borders == borders_.end()) continue;
    for (const Border& border : borders->second) {
      std::int64_t time = border.last == 0 ? border.time_ns : latest[border.last] + border.after_ns;
      if (border.first > 0) {
        time = kNever;
        for (std::size_t i = border.first; i < border.last; ++i) time = std::max(time, times.end_ns[nodes[i]]);
      }
      std::int64_t& side = border.is_end ? end[border.step] : begin[border.step];
      side = std::max(side, time);
    }
  }
  if (last != kNever) durations.span_ns = last - first;
  for (std::size_t i = 0; i < num_steps_; ++i) durations.step_ns.push_back(end[i] - begin[i]);
  return durations;
}

Durations StepTimes::measured() const {
  Times times;
  for (const Node& node : graph_.nodes()) {
    times.start_ns.push_back(node.start_ns);
    times.end_ns.push_back(node.end_ns());
  }
  return of(times);
}

}  // namespace underlap::graph
