// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/samples.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "platform/errors.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::report {
namespace {

// The latest mark of every step, over the ranks.
std::map<std::int32_t, std::int64_t> latest_marks(const Trace& trace) {
  std::map<std::int32_t, std::int64_t> latest;
  for (const Mark& mark : trace.marks) {
    const auto [entry, is_new] = latest.try_emplace(mark.step, mark.time_ns);
    entry->second = std::max(entry->second, mark.time_ns);
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

std::int32_t num_ranks_of(const BlockRun& run) {
  std::set<std::int32_t> ranks;
  for (const Mark& mark : run.trace.marks) ranks.insert(mark.rank);
  return static_cast<std::int32_t>(ranks.size());
}

std::vector<StepSample> samples_of(const BlockRun& run, std::int32_t block, bool has_slices) {
  const analysis::WindowList list = analysis::find_windows(run.trace);
  if (!list.errors.empty()) throw MachineError("a block's marks are not valid: " + list.errors.front());
  const std::map<std::int32_t, std::int64_t> marks = latest_marks(run.trace);
  std::map<std::int32_t, StepSample> by_step;
  for (std::int32_t i = 1; i < run.num_steps; ++i) {
    const std::int32_t step = run.first_step + i;
    by_step[step] = {.block = block,
                     .step = step,
                     .step_ns = marks.at(step) - marks.at(step - 1),
                     .loss = mean_loss(run, static_cast<std::size_t>(i)),
                     .transfer_cpu_ns = {},
                     .ranks = {}};
    if (run.transfer_cpu_ns) by_step[step].transfer_cpu_ns = *run.transfer_cpu_ns / run.num_steps;
  }
  if (has_slices) {
    const std::vector<analysis::Split> splits = analysis::split_windows(run.trace, list.windows);
    for (std::size_t i = 0; i < splits.size(); ++i) by_step.at(list.windows[i].step).ranks.push_back(splits[i]);
  }
  std::vector<StepSample> samples;
  for (auto& [step, sample] : by_step) samples.push_back(std::move(sample));
  return samples;
}

}  // namespace underlap::report
