// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/steps/step_choice.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/name.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The source of the begins and ends of a rank's steps, the most reliable first.
enum class StepSource : std::uint8_t {
  marks,          ///< the ends of steps that the trace itself holds
  profiler_step,  ///< ranges of PyTorch's profiler, "ProfilerStep#12"
  range,          ///< other ranges: named like a step, such as "iteration 12", or repeating without gaps
  period,         ///< from one range that occurs once in a step to the next, such as a call of the optimizer
  repetition,     ///< the kernels of the busiest stream, which run in the same order again and again
  none
};

/// "marks", "profiler_step", "range", "period", "repetition", "none".
std::string_view to_string(StepSource);
constexpr StepSource last_value(StepSource) { return StepSource::none; }

/// A range of the host whose name shows that it may hold up a step: a checkpoint, an evaluation, the data loader.
struct HostPause {
  NameId name = kNoName;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// The steps of one rank.
struct RankSteps {
  std::int32_t rank = 0;
  StepSource source = StepSource::none;
  std::string range{};              ///< what the ranges are called, without their number
  std::vector<Window> windows{};    ///< in order of time; of block 0, unless they come from marks
  bool is_first_cut = false;        ///< the first step was not recorded whole, and is left out
  bool is_last_cut = false;         ///< likewise the last
  std::int64_t num_without = 0;     ///< steps left out because they have no work on the device
  std::vector<HostPause> pauses{};  ///< in order of their starts
};

/// The steps of every rank that has work, by rank.
struct StepList {
  std::vector<RankSteps> ranks;
  std::string refusal{};  ///< why the trace has no chosen step; empty if it has some, or none was chosen

  bool has_any() const;
  /// Appends the steps of other ranks of the job.
  void append(StepList other);
  /// Throws std::invalid_argument with the refusal if the list has no step.
  void check_choice() const;
};

/// Finds the steps of a trace, for each rank by the surest source that it has.
///
/// A step of ranges is the device's: the work that was launched inside the range, on whatever thread (work whose launch
/// is not known goes with the work before it on its stream; without any known launch there, its own start decides). It
/// lasts from the end of the last work of the step before it to the end of its own last work; the first step of a rank
/// from the later of its range's begin and the end of the work launched before it. Of repeated kernels, a step lasts
/// from the end of the kernel before the first of its own to the end of its last one. If the work runs on the host
/// (metadata "work_runs_on": "host"), a step is its range.
///
/// The first or last step is cut where it holds less than four fifths of the work of the median step, and is left out.
/// So is a first step of ranges before which no work was recorded: the pause before its work is part of a step. It is
/// kept where it is the only one.
/// This fails when steps differ in work, as those with an evaluation: a whole step at either end may be left out.
///
/// `choice` selects ranges and steps. If no rank has such ranges or none of those steps, the list has none, and its
/// refusal names the ranges that repeat or the steps. Throws std::invalid_argument if the name is a wrong regular
/// expression.
StepList find_steps(const Trace&, const StepChoice& choice = {});

/// Leaves out the marks of other steps than those of `choice`. Throws std::invalid_argument for a name, and where no
/// mark is left.
void choose_marks(Trace&, const StepChoice& choice);

/// "ProfilerStep (5), the last one cut off and excluded"; where ranks differ, one part for each kind, after the
/// number of its ranks. Where there are none, why.
std::string steps_text(const StepList&);

}  // namespace underlap::analysis
