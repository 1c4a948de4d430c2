// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/samples.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace underlap::report {
namespace {

// When the last rank ended each step; the settling step ends where the first windows begin.
std::map<std::int32_t, std::int64_t> latest_ends(const BlockFigures& figures) {
  std::map<std::int32_t, std::int64_t> latest;
  const auto take = [&](std::int32_t step, std::int64_t end_ns) {
    const auto [entry, is_new] = latest.try_emplace(step, end_ns);
    entry->second = std::max(entry->second, end_ns);
  };
  for (const analysis::Window& window : figures.windows) {
    take(window.step - 1, window.begin_ns);
    take(window.step, window.end_ns);
  }
  return latest;
}

}  // namespace

std::optional<double> mean_loss(const BlockRun& run, std::size_t step) {
  if (run.losses.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& of_rank : run.losses) sum += of_rank[step];
  return sum / static_cast<double>(run.losses.size());
}

std::vector<std::int32_t> ranks_of(const BlockRun& run) {
  std::set<std::int32_t> ranks;
  for (const analysis::Window& window : run.figures.windows) ranks.insert(window.rank);
  return {ranks.begin(), ranks.end()};
}

std::vector<StepSample> samples_of(const BlockRun& run, std::int32_t block) {
  const BlockFigures& figures = run.figures;
  const std::map<std::int32_t, std::int64_t> ends = latest_ends(figures);
  std::map<std::int32_t, StepSample> by_step;
  for (std::int32_t i = 1; i < run.num_steps; ++i) {
    const std::int32_t step = run.first_step + i;
    by_step[step] = {.block = block,
                     .step = step,
                     .step_ns = ends.at(step) - ends.at(step - 1),
                     .loss = mean_loss(run, static_cast<std::size_t>(i)),
                     .transfer_cpu_ns = {},
                     .ranks = {}};
    if (run.transfer_cpu_ns) by_step[step].transfer_cpu_ns = *run.transfer_cpu_ns / run.num_steps;
  }
  for (std::size_t i = 0; i < figures.splits.size(); ++i)
    by_step.at(figures.windows[i].step).ranks.push_back(figures.splits[i]);
  std::vector<StepSample> samples;
  for (auto& [step, sample] : by_step) samples.push_back(std::move(sample));
  return samples;
}

}  // namespace underlap::report
