// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/gaps.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

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

}  // namespace

std::vector<std::int64_t> Gaps::of(GapPolicy policy) const {
  switch (policy) {
    case GapPolicy::kept: return measured_ns;
    case GapPolicy::mean: return mean_ns;
    case GapPolicy::zero: break;
  }
  return std::vector<std::int64_t>(measured_ns.size());
}

Gaps measure_gaps(const Graph& graph, const EdgeFilter& filter) { return GapFinder(graph, filter).find(); }

}  // namespace underlap::graph
