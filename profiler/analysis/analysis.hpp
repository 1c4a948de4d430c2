// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
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

/// The median over `splits` of what `part` gives of each; 0 where there are none.
double median_of(std::span<const Split> splits, const std::function<std::int64_t(const Split&)>& part);

/// The same of a part of one mode or purpose: `kind` is &Split::modes or &Split::purposes. A window without it counts
/// as 0.
double median_of(std::span<const Split> splits, const std::map<std::string, CommunicationSplit> Split::*kind,
                 const std::string& key, std::int64_t CommunicationSplit::*part);

/// Whether any of an exposed time could be split into wait and transfer: a wait of 0 where nothing could be would claim
/// that nobody waited.
constexpr bool is_split(std::int64_t unsplit_ns, std::int64_t exposed_ns) {
  return unsplit_ns == 0 || unsplit_ns != exposed_ns;
}

/// The summary as one line of JSON, schema underlap.analysis/1 (bench/METRICS.md defines its keys). `files` are those
/// that the trace was read from.
std::string analysis_json(const Trace&, const Summary&, const std::vector<std::string>& files = {});

/// A median step for a terminal: what was wrong with the trace, a table of the ranks, and of the mean rank's modes and
/// purposes.
std::string analysis_table(const Trace&, const Summary&, const TableFormat&);

}  // namespace underlap::analysis
