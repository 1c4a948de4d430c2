// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/precedence.hpp"

#include <algorithm>
#include <deque>
#include <optional>

namespace underlap::check {
namespace {

class Graph {
 public:
  explicit Graph(const std::vector<std::vector<std::uint32_t>>& sequences) : sequences_(sequences) {
    std::uint32_t num_nodes = 0;
    for (const auto& sequence : sequences)
      for (const std::uint32_t node : sequence) num_nodes = std::max(num_nodes, node + 1);
    successors_.resize(num_nodes);
    for (std::size_t s = 0; s < sequences.size(); ++s)
      for (std::size_t i = 1; i < sequences[s].size(); ++i)
        if (sequences[s][i - 1] != sequences[s][i]) successors_[sequences[s][i - 1]].push_back({s, i - 1, i});
  }

  // Finds a node on a cycle. After repeatedly removing all nodes without a predecessor, each remaining node has a
  // predecessor; following predecessors then ends on a cycle.
  std::optional<std::uint32_t> node_on_circle() const {
    const std::vector<std::uint32_t> num_predecessors = left_over();
    const auto left = std::find_if(num_predecessors.begin(), num_predecessors.end(), [](auto n) { return n > 0; });
    if (left == num_predecessors.end()) return std::nullopt;
    std::vector<std::uint32_t> predecessor(successors_.size());
    for (std::uint32_t node = 0; node < successors_.size(); ++node)
      if (num_predecessors[node] > 0)
        for (const Precedence& edge : successors_[node]) predecessor[target(edge)] = node;
    auto node = static_cast<std::uint32_t>(left - num_predecessors.begin());
    for (std::size_t i = 0; i < successors_.size(); ++i) node = predecessor[node];
    return node;
  }

  // The shortest way from `node` back to itself.
  std::vector<Precedence> circle_through(std::uint32_t node) const {
    std::vector<std::optional<Precedence>> reached_by(successors_.size());
    std::deque<std::uint32_t> open{node};
    while (!reached_by[node]) {
      const std::uint32_t from = open.front();
      open.pop_front();
      for (const Precedence& edge : successors_[from]) {
        if (reached_by[target(edge)]) continue;
        reached_by[target(edge)] = edge;
        open.push_back(target(edge));
      }
    }
    std::vector<Precedence> circle;
    for (std::uint32_t at = node; circle.empty() || at != node;
         at = sequences_[circle.back().sequence][circle.back().from])
      circle.push_back(*reached_by[at]);
    std::reverse(circle.begin(), circle.end());
    return circle;
  }

 private:
  std::uint32_t target(const Precedence& edge) const { return sequences_[edge.sequence][edge.to]; }

  std::vector<std::uint32_t> left_over() const {
    std::vector<std::uint32_t> num_predecessors(successors_.size(), 0);
    for (const auto& edges : successors_)
      for (const Precedence& edge : edges) ++num_predecessors[target(edge)];
    std::vector<std::uint32_t> free;
    for (std::uint32_t node = 0; node < successors_.size(); ++node)
      if (num_predecessors[node] == 0) free.push_back(node);
    while (!free.empty()) {
      const std::uint32_t node = free.back();
      free.pop_back();
      for (const Precedence& edge : successors_[node])
        if (--num_predecessors[target(edge)] == 0) free.push_back(target(edge));
    }
    return num_predecessors;
  }

  const std::vector<std::vector<std::uint32_t>>& sequences_;
  std::vector<std::vector<Precedence>> successors_;  // by node
};

// A range that runs on in one sequence is one precedence.
std::vector<Precedence> joined(const std::vector<Precedence>& circle) {
  std::vector<Precedence> result;
  for (const Precedence& edge : circle) {
    if (!result.empty() && result.back().sequence == edge.sequence && result.back().to == edge.from)
      result.back().to = edge.to;
    else
      result.push_back(edge);
  }
  return result;
}

}  // namespace

std::vector<Precedence> find_contradiction(const std::vector<std::vector<std::uint32_t>>& sequences) {
  const Graph graph(sequences);
  const std::optional<std::uint32_t> node = graph.node_on_circle();
  return node ? joined(graph.circle_through(*node)) : std::vector<Precedence>{};
}

}  // namespace underlap::check
