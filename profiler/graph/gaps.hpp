// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/graph/graph.hpp"

namespace underlap::graph {

/// What a replay does with the time between the edge that a node waited for last and the start of the node.
enum class GapPolicy : std::uint8_t {
  kept,  ///< as measured: a replay without a change gives the measured times, even of a wrong graph
  mean,  ///< the mean of the gaps of its kind, which tests the graph
  zero   ///< none: what is missing then is the part that no edge explains
};

/// The gaps of a graph.
struct Gaps {
  std::vector<std::int64_t> measured_ns;  ///< by edge; of an edge that did not bind, the mean or less
  std::vector<std::int64_t> mean_ns;      ///< by edge: of all edges of its kind that bound
  std::vector<std::uint32_t> binding;     ///< by node: the edge that it waited for last; kNone without edges

  /// By edge. Valid while this is.
  std::vector<std::int64_t> of(GapPolicy) const;
};

/// Finds which edge each node waited for last, and how long after it the node started. Edges that the filter leaves out
/// bind nothing.
///
/// Gaps are of one kind where their edges are, on one rank, where their ends do the same (compute, communication, copy,
/// call), and where both or neither cross a step. The edge that binds is the one that is latest with the mean gap of
/// its kind, so it is found again once means are known.
Gaps measure_gaps(const Graph&, const EdgeFilter& = {});

}  // namespace underlap::graph
