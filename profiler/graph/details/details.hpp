// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/text/titled_table.hpp"
#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/details/trace_details.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/graph/critical_path.hpp"
#include "profiler/graph/replay.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::graph {

/// The parts of an analysis that are made on request.
struct Details {
  analysis::WaitReport waits;
  analysis::BandwidthReport bandwidth;
  analysis::SlowedCompute slowed;
  std::map<std::int32_t, analysis::IdleTime> idle;  ///< by rank, of its windows
  CriticalPath path;                                ///< of the median step; of all where there are no steps
  std::optional<analysis::Window> path_step;        ///< whose block and step that is
  ReplayCheck replay;
  std::vector<WhatIf> what_if;  ///< empty where the replay error is too large
};

/// Finds them. `windows` are the steps of all ranks, or, with step -1, the span of each. The trace comes from
/// match_and_align. Throws std::invalid_argument where windows of one rank overlap.
Details find_details(const Trace&, const analysis::Communications&, std::span<const analysis::Window> windows);

/// `analysis_json` (underlap.analysis/1) with the details under keys of their own (bench/METRICS.md). The summary has
/// the communications and exposure reasons of the trace.
std::string with_details(const std::string& analysis_json, const Trace&, const analysis::Summary&, const Details&);

/// Adds the keys of the details to the schema of such JSON.
void add_details_schema(nlohmann::ordered_json& analysis_schema);

/// The details as tables for people: wait and transfer, bandwidth, slowed compute, idle time, critical path, what if.
/// A table that the trace cannot show has a note instead of rows.
std::vector<TitledTable> details_tables(const analysis::Summary&, const Details&);

}  // namespace underlap::graph
