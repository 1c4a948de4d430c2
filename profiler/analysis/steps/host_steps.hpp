// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/steps/step_ranges.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// A step on the host. Work that is launched during it belongs to it.
struct HostStep {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::int32_t> number{};
};

/// The steps of a rank on its host, in order of time; none overlaps another.
struct HostSteps {
  StepSource source = StepSource::none;
  std::string range{};  ///< name of the ranges, without their number
  std::vector<HostStep> steps{};
};

/// Finds the steps of a rank among its ranges: those that `choice` names; without a name, the first of these that
/// exist.
///
/// 1. Lightning's run_training_batch: its ProfilerStep ends with the forward pass, in the middle of a step.
/// 2. ProfilerStep.
/// 3. Ranges named like a step: the name with the longest total. A range inside another of its name does not
///    count. Fails when ranges that are not steps have such a name and a longer total: they then count as steps.
/// 4. A range that repeats (numbered upward, or not numbered), contains most launches, and leaves few gaps. Fails
///    when an epoch or a part of a step does this, too.
/// 5. The time from one optimizer call to the next, or from one forward pass of DeepSpeed to the next. The
///    latter fails with gradient accumulation: each microbatch is then a step.
///
/// asked_ns   launch time of each slice of rank.work; kNotLaunched if unknown
HostSteps host_steps(const Trace&, const RankSlices&, std::span<const std::int64_t> asked_ns, const StepChoice&);

/// "\"forward\" (12), \"backward\" (12)": the ranges of a trace that repeat, the longest in all first.
std::string repeating_ranges(const Trace&);

}  // namespace underlap::analysis
