// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "profiler/analysis/steps/typical.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::analysis {

/// How every program, table and page forms the time of a step, and every other figure of one. bench/METRICS.md defines
/// it in words; nothing else may compute it.
///
/// 1. A step of the job is the windows of all ranks with the same block and step. Its time is job_steps()'s.
/// 2. A stalled step counts for nothing (stalled_steps()), as a step that was not recorded whole does (find_steps()).
/// 3. A figure of a step other than its time is the mean over its ranks.
/// 4. A figure of the cell or trace is typical(): the median over blocks of the median over a block's steps.

/// One step of a job.
struct JobStep {
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int64_t step_ns = 0;
  std::vector<std::size_t> windows{};  ///< of its ranks, as indices, in ascending order

  std::pair<std::int32_t, std::int32_t> id() const { return {block, step}; }
};

/// Whether the times of different ranks can be subtracted.
enum class Clock : std::uint8_t {
  common,   ///< a step lasts from the end of the last rank's window before it to the end of the last rank's own
  per_rank  ///< a step lasts as long as its windows do, on average
};

/// The steps that all ranks with windows have, by block and step. Where no block and step is common to all ranks, the
/// first windows of all ranks form a step, then the second ones, and so on. The latter fails when ranks were recorded
/// from different steps on: different steps are then put together.
std::vector<JobStep> job_steps(std::span<const Window> windows, Clock clock);

/// Indices of the stalled ones among durations, in ns: those over twice the median and over 8 median absolute
/// deviations from it. A step's duration here is the longer of its time and its longest window: a rank that others
/// wait for may start its next window late. Fails when half of all steps stall: no step then counts as stalled. A step
/// that is long by design, as one with a checkpoint, counts as stalled.
std::vector<std::size_t> stalled_steps(std::span<const std::int64_t> durations_ns);

}  // namespace underlap::analysis
