// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/exposure_reasons.hpp"
#include "profiler/analysis/split.hpp"
#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/steps/job_steps.hpp"
#include "profiler/analysis/waits.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// A step of the job that took far longer than the others, as where a rank was stopped.
struct StalledStep {
  JobStep step;                      ///< its windows are those below
  std::vector<Window> windows = {};  ///< of its ranks
  std::string cause = {};            ///< host range that explains at least half of the extra time; "": none
  std::int64_t cause_ns = 0;         ///< how much longer that range is than in other steps
};

/// What one rank did over its counted windows: those of stalled steps are left out.
struct RankSummary {
  std::int32_t rank = 0;
  Split total;                       ///< every part summed over the windows
  std::int64_t comm_kernels = 0;     ///< communications that end in a window
  std::int64_t compute_kernels = 0;  ///< compute slices that end in a window
  std::vector<Window> windows;       ///< measured steps; one of step -1 where the trace has no marks
  std::vector<Split> splits;         ///< by window
};

/// A whole trace, by rank.
struct Summary {
  std::vector<RankSummary> ranks;           ///< over the measured steps of the marks, else over the whole trace
  std::vector<RankSummary> steps_of_ranks;  ///< over steps that were found without marks, of the ranks that have some
  StepList steps;                           ///< and their source
  std::vector<JobStep> job_steps;           ///< counted ones; their windows are places in shown_windows()
  std::vector<StalledStep> stalled;         ///< left out of all figures
  std::optional<Communications> communications;   ///< over all ranks, where match_and_summarize() looked
  std::optional<WaitReport> waits;                ///< where match_and_summarize() looked for them
  ExposureReasons reasons;                        ///< of exposed communication, where someone asked for them
  std::vector<std::string> window_errors;         ///< from find_windows
  bool has_steps = false;                         ///< windows come from marks; otherwise from the span of the slices
  std::optional<std::int64_t> clock_residual_ns;  ///< of align_clocks
  std::optional<std::int64_t> lateness_ns;        ///< of align_clocks
  std::map<std::pair<std::int32_t, std::int32_t>, ClockOffset> clock_pairs;  ///< of align_clocks

  /// The ranks over their steps where any are known, else over the whole trace.
  const std::vector<RankSummary>& shown() const { return steps_of_ranks.empty() ? ranks : steps_of_ranks; }
  /// The windows of what is shown, rank by rank.
  std::vector<Window> shown_windows() const;
  /// Those and the windows of stalled steps, by rank and time.
  std::vector<Window> all_windows() const;
  /// Whether what is shown are steps.
  bool shows_steps() const { return has_steps || !steps_of_ranks.empty(); }
};

/// Summarizes a trace: over its measured steps where it has marks, else over each rank's span, and over the steps that
/// find_steps() finds. `steps`: those that were found already, when the trace held more than it does now.
Summary summarize(const Trace&);
Summary summarize(const Trace&, StepList steps);

/// The same, after the communications of the ranks were matched. Slices of a trace without marks then have wait and
/// transfer, and the summary knows late ranks. Marked traces have these from the recording. Throws Cancelled.
Summary match_and_summarize(Trace&, StepList steps, const Reading& = {});

/// The source of the steps, in a sentence.
std::string steps_text(const Summary&);

/// Part of a window, in nanoseconds (or bytes, or a count).
using PartOfSplit = std::function<std::int64_t(const Split&)>;

/// A part of one mode or purpose: `kind` is &Split::modes or &Split::purposes. A window without it has 0.
PartOfSplit part_of(const std::map<std::string, CommunicationSplit> Split::*kind, const std::string& key,
                    std::int64_t CommunicationSplit::*part);

/// The typical() step of the job, in ns (job_steps.hpp).
double typical_step_ns(const Summary&);

/// A part of the typical step: of the job, as the mean over its ranks; or of one rank.
double typical(const Summary&, const PartOfSplit& part);
double typical(const RankSummary&, const PartOfSplit& part);

/// "median of 39 steps", of several blocks "median of 5 block medians, 39 steps"; of one step
/// empty.
std::string statistic_text(const Summary&);

/// "1 stalled step is excluded: step 36 took 6944 ms (typically 1547 ms), 5120 ms of it in "save_checkpoint""; empty
/// without stalled steps.
std::string stalled_text(const Summary&);

/// Whether any of an exposed time could be split into wait and transfer: a wait of 0 where nothing could be would claim
/// that nobody waited.
constexpr bool is_split(std::int64_t unsplit_ns, std::int64_t exposed_ns) {
  return unsplit_ns == 0 || unsplit_ns != exposed_ns;
}

}  // namespace underlap::analysis
