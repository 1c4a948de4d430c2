// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/table.hpp"
#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/details/bandwidth.hpp"
#include "profiler/analysis/details/critical_path.hpp"
#include "profiler/analysis/details/idle_causes.hpp"
#include "profiler/analysis/details/slowed_compute.hpp"
#include "profiler/analysis/details/what_if.hpp"
#include "profiler/analysis/waits.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// All that is said of a trace on request, beside its split.
struct Details {
  WaitReport waits;
  BandwidthReport bandwidth;
  SlowedCompute slowed;
  std::map<std::int32_t, IdleTime> idle;  ///< by rank, of its windows
  CriticalPath path;                      ///< of the median step; of all where there are no steps
  std::optional<Window> path_step;        ///< whose block and step that is
  std::vector<WhatIf> what_if;
};

/// Finds them. `windows` are the steps of all ranks, or, with step -1, the span of each. The trace comes from
/// match_and_align. Throws std::invalid_argument where windows of one rank overlap.
Details find_details(const Trace&, const Communications&, std::span<const Window> windows);

/// `analysis_json` (underlap.analysis/1) with the details under keys of their own (bench/METRICS.md).
std::string with_details(const std::string& analysis_json, const Trace&, const Communications&, const Details&);

/// The details as text for a terminal, a heading and a table each; what a trace cannot show has one line that says so.
std::string details_text(const Communications&, const Details&, const TableFormat&);

}  // namespace underlap::analysis
