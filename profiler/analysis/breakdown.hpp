// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profiler/analysis/figure_table.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// What the rows of a table of an analysis are.
enum class Breakdown : std::uint8_t { mode, purpose, stream, rank, step, kernel, hidden };

inline constexpr int kNumBreakdowns = 7;

std::string_view to_string(Breakdown);
/// The reverse of to_string; nullopt for a word that is none of them.
std::optional<Breakdown> breakdown_from(std::string_view);

/// The table of `by`, over the steps that the summary shows, else over the whole trace (bench/METRICS.md defines its
/// figures):
///
/// - rank: each rank's median step, and their mean.
/// - mode, purpose: communication in the median step, mean of the ranks that have it; unattributed has a row always.
/// - hidden: hidden communication of each mode, by the class of concurrent compute; windows as for mode.
/// - step: each step, mean of the ranks, and the rank with most exposed time.
/// - stream, kernel: a step's mean over all steps and the ranks that have it; kernels with the most time first.
FigureTable breakdown(const Trace&, const Summary&, Breakdown by);

/// The same of ranks, but of more than 16 only those with the least and the most exposed time, and the mean.
FigureTable rank_table(const Summary&);

/// The line above the table.
std::string title_of(const Summary&, Breakdown);

/// Tables by stream, by kernel and by hiding compute, which need the slices.
FigureTable stream_table(const Trace&, const Summary&);
FigureTable hidden_table(const Trace&, const Summary&);
FigureTable kernel_table(const Trace&, const Summary&);

}  // namespace underlap::analysis
