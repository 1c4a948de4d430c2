// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/samples.hpp"

#include <fmt/format.h>

#include <cmath>

#include "profiler/analysis/steps/job_steps.hpp"

namespace underlap::report {
namespace {

std::map<std::int32_t, std::int64_t> step_times(const BlockFigures& figures) {
  std::map<std::int32_t, std::int64_t> times;
  for (const analysis::JobStep& step : analysis::job_steps(figures.windows, analysis::Clock::common))
    times[step.step] = step.step_ns;
  return times;
}

}  // namespace

std::optional<double> mean_loss(const BlockRun& run, std::size_t step) {
  if (run.losses.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& of_rank : run.losses) sum += of_rank[step];
  return sum / static_cast<double>(run.losses.size());
}

std::string non_finite_loss(const CellResult& cell) {
  const auto found = std::ranges::find_if(
      cell.samples, [](const StepSample& sample) { return sample.loss && !std::isfinite(*sample.loss); });
  if (cell.label == NumericsLabel::not_checked || found == cell.samples.end()) return "";
  return fmt::format("the loss is {} in block {}, step {}", std::isnan(*found->loss) ? "NaN" : "infinite", found->block,
                     found->step);
}

std::vector<std::int32_t> ranks_of(const BlockRun& run) {
  std::set<std::int32_t> ranks;
  for (const analysis::Window& window : run.figures.windows) ranks.insert(window.rank);
  return {ranks.begin(), ranks.end()};
}

std::vector<StepSample> samples_of(const BlockRun& run, std::int32_t block) {
  const BlockFigures& figures = run.figures;
  const std::map<std::int32_t, std::int64_t> times = step_times(figures);
  std::map<std::int32_t, StepSample> by_step;
  for (std::int32_t i = 1; i < run.num_steps; ++i) {
    const std::int32_t step = run.first_step + i;
    by_step[step] = {.block = block,
                     .step = step,
                     .step_ns = times.at(step),
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
