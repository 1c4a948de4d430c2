// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/graph.hpp"

#include <functional>
#include <queue>

namespace underlap::graph {

std::string_view to_string(EdgeKind kind) {
  constexpr std::array<std::string_view, kNumEdgeKinds> kNames{"stream",     "launch",     "event",   "host_wait",
                                                               "host_order", "collective", "message", "resource"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Graph::Graph(std::vector<Node> nodes, std::vector<Edge> edges) : nodes_(std::move(nodes)), edges_(std::move(edges)) {
  num_dropped_ = std::erase_if(edges_, [&](const Edge& edge) {
    return edge.from == edge.to || nodes_[edge.from].start_ns > nodes_[edge.to].start_ns ||
           measured_ns(edge) > nodes_[edge.to].start_ns;
  });
  index_edges();
  sort_nodes();
}

void Graph::index_edges() {
  std::ranges::stable_sort(edges_, {}, &Edge::to);
  first_edge_.assign(nodes_.size() + 1, 0);
  for (const Edge& edge : edges_) ++first_edge_[edge.to + 1];
  for (std::size_t i = 0; i < nodes_.size(); ++i) first_edge_[i + 1] += first_edge_[i];
}

// Kahn's algorithm; of the nodes that are ready, the one that was measured to start first.
void Graph::sort_nodes() {
  const auto num = static_cast<std::uint32_t>(nodes_.size());
  std::vector<std::uint32_t> first_out(nodes_.size() + 1), out(edges_.size()), missing(nodes_.size());
  for (const Edge& edge : edges_) ++first_out[edge.from + 1], ++missing[edge.to];
  for (std::size_t i = 0; i < nodes_.size(); ++i) first_out[i + 1] += first_out[i];
  std::vector<std::uint32_t> next = first_out;
  for (const Edge& edge : edges_) out[next[edge.from]++] = edge.to;

  using Ready = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < num; ++i)
    if (missing[i] == 0) ready.emplace(nodes_[i].start_ns, i);
  while (!ready.empty()) {
    const std::uint32_t node = ready.top().second;
    ready.pop();
    order_.push_back(node);
    for (std::uint32_t i = first_out[node]; i < first_out[node + 1]; ++i)
      if (--missing[out[i]] == 0) ready.emplace(nodes_[out[i]].start_ns, out[i]);
  }
  if (order_.size() == nodes_.size()) return;

  // Operations without duration at one time may wait for each other in a damaged trace. Those that remain lose the
  // edges between them.
  const std::size_t before = edges_.size();
  std::erase_if(edges_, [&](const Edge& edge) { return missing[edge.to] > 0 && missing[edge.from] > 0; });
  num_dropped_ += before - edges_.size();
  order_.clear();
  index_edges();
  sort_nodes();
}

}  // namespace underlap::graph
