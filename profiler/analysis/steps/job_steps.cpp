// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/job_steps.hpp"

#include <cmath>
#include <set>

namespace underlap::analysis {
namespace {

constexpr double kTimesTheMedian = 2;
constexpr double kDeviations = 8;

using Id = std::pair<std::int32_t, std::int32_t>;
using WindowsOfStep = std::map<Id, std::vector<std::size_t>>;

std::set<std::int32_t> ranks_in(std::span<const Window> windows) {
  std::set<std::int32_t> ranks;
  for (const Window& window : windows) ranks.insert(window.rank);
  return ranks;
}

WindowsOfStep by_number(std::span<const Window> windows, std::size_t num_ranks) {
  WindowsOfStep steps;
  for (std::size_t i = 0; i < windows.size(); ++i) steps[{windows[i].block, windows[i].step}].push_back(i);
  std::erase_if(steps, [&](const auto& step) { return step.second.size() != num_ranks; });
  return steps;
}

WindowsOfStep by_order(std::span<const Window> windows, std::size_t num_ranks) {
  std::map<std::int32_t, std::int32_t> count;  // of windows seen, by rank
  WindowsOfStep steps;
  for (std::size_t i = 0; i < windows.size(); ++i) steps[{0, count[windows[i].rank]++}].push_back(i);
  std::erase_if(steps, [&](const auto& step) { return step.second.size() != num_ranks; });
  return steps;
}

// A block's first window starts where the unmeasured step before it ends.
std::map<Id, std::int64_t> latest_ends(std::span<const Window> windows) {
  std::map<Id, std::int64_t> latest;
  const auto take = [&](Id id, std::int64_t end_ns) {
    const auto [entry, is_new] = latest.try_emplace(id, end_ns);
    entry->second = std::max(entry->second, end_ns);
  };
  for (const Window& window : windows) {
    take({window.block, window.step - 1}, window.begin_ns);
    take({window.block, window.step}, window.end_ns);
  }
  return latest;
}

std::int64_t mean_duration(std::span<const Window> windows, const std::vector<std::size_t>& of_step) {
  std::int64_t sum = 0;
  for (const std::size_t window : of_step) sum += windows[window].length_ns();
  return sum / static_cast<std::int64_t>(of_step.size());
}

}  // namespace

std::vector<JobStep> job_steps(std::span<const Window> windows, Clock clock) {
  const std::size_t num_ranks = ranks_in(windows).size();
  WindowsOfStep grouped = by_number(windows, num_ranks);
  if (grouped.empty()) grouped = by_order(windows, num_ranks);
  const std::map<Id, std::int64_t> ends = clock == Clock::common ? latest_ends(windows) : std::map<Id, std::int64_t>{};
  std::vector<JobStep> steps;
  for (auto& [id, of_step] : grouped) {
    const std::int64_t step_ns =
        clock == Clock::common ? ends.at(id) - ends.at({id.first, id.second - 1}) : mean_duration(windows, of_step);
    steps.push_back({.block = id.first, .step = id.second, .step_ns = step_ns, .windows = std::move(of_step)});
  }
  return steps;
}

std::vector<std::size_t> stalled_steps(std::span<const std::int64_t> durations_ns) {
  const std::vector<double> durations(durations_ns.begin(), durations_ns.end());
  const double middle = median(durations);
  std::vector<double> deviations;
  for (const double duration : durations) deviations.push_back(std::abs(duration - middle));
  const double limit = std::max(kTimesTheMedian * middle, middle + kDeviations * median(std::move(deviations)));
  std::vector<std::size_t> stalled;
  for (std::size_t i = 0; i < durations.size(); ++i)
    if (durations[i] > limit) stalled.push_back(i);
  return stalled;
}

}  // namespace underlap::analysis
