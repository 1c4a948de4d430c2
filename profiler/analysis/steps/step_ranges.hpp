// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/steps/step_choice.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// `text` with its ASCII letters in lower case.
std::string lower(std::string_view text);

/// Parses the name of a range that is a step: "ProfilerStep#12", "step_12", "Iteration 12", "train_step",
/// "iteration[12, 16)". nullopt if it is not the name of a whole step, such as "Optimizer.step#Adam.step".
std::optional<NumberedName> step_name(std::string_view name);

/// One rank's slices, by their indices into its trace.
struct RankSlices {
  std::int32_t rank = 0;
  std::vector<std::uint32_t> work;    ///< of the device, by start
  std::vector<std::uint32_t> ranges;  ///< annotations of threads and of the device, by start
};

/// When the work of each slice was launched, by slice; kNotLaunched if unknown.
inline constexpr std::int64_t kNotLaunched = INT64_MIN;
std::vector<std::int64_t> launch_times(const Trace&);

/// The steps of one rank by its ranges (host_steps()); of source none where no ranges are steps.
RankSteps steps_of_ranges(const Trace&, const RankSlices&, std::span<const std::int64_t> launched_ns,
                          const StepChoice&);

/// The steps of one rank by the sequence of its kernels on the stream that has most of them; of source none where it
/// does not repeat.
RankSteps steps_of_repetition(const Trace&, const RankSlices&);

}  // namespace underlap::analysis
