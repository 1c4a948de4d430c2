// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/table.hpp"
#include "profiler/analysis/split.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// What one rank did over all its windows.
struct RankSummary {
  std::int32_t rank = 0;
  Split total;                       ///< every part summed over the windows
  std::int64_t comm_kernels = 0;     ///< communication slices that end in a window
  std::int64_t compute_kernels = 0;  ///< compute slices that end in a window
  std::vector<Window> windows;       ///< measured steps; one of step -1 where the trace has no marks
  std::vector<Split> splits;         ///< by window
};

/// A whole trace, by rank.
struct Summary {
  std::vector<RankSummary> ranks;
  std::vector<std::string> window_errors;         ///< from find_windows
  bool has_steps = false;                         ///< windows come from marks; otherwise from the span of the slices
  std::optional<std::int64_t> clock_residual_ns;  ///< of align_clocks
  std::optional<std::int64_t> lateness_ns;        ///< of align_clocks
};

/// Summarises a trace: over its measured steps where it has marks, else over each rank's span.
Summary summarise(const Trace&);

/// The summary as one line of JSON, schema underlap.analysis/1 (bench/METRICS.md defines its keys).
std::string analysis_json(const Trace&, const Summary&);

/// The same for a terminal: one table of the ranks, one of the modes and purposes, and what was wrong with the trace.
std::string analysis_table(const Trace&, const Summary&, const TableFormat&);

}  // namespace underlap::analysis
