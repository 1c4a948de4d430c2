// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/analysis/communications.hpp"
#include "profiler/graph/graph.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::graph {

/// Builds the execution graph of a trace that match_and_align has seen. In n log n.
///
/// Each operation of a device is a node; a matched communication is an arrival of each member, a join, and a transfer
/// of each member that lasts from the last arrival to its end. Host calls are nodes where they launch work or wait for
/// it. bench/METRICS.md lists the edges, and which of them are guessed.
Graph build_graph(const Trace&, const analysis::Communications&);

}  // namespace underlap::graph
