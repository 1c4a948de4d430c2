// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/where_time_went.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "profiler/report/stalls.hpp"

namespace underlap::report {
namespace {

// The steps that a mean over a cell counts: those that were recorded.
Steps traced_steps(const CellResult& cell) {
  Steps steps;
  for (const StepSample& sample : cell.samples)
    if (!sample.ranks.empty()) steps.emplace(sample.block, sample.step);
  return steps;
}

Steps without(Steps steps, const Steps& others) {
  std::erase_if(steps, [&](const auto& step) { return others.contains(step); });
  return steps;
}

// Those of the blocks that `other` has too.
Steps in_blocks_of(Steps steps, const Steps& other) {
  std::set<std::int32_t> blocks;
  for (const auto& [block, step] : other) blocks.insert(block);
  std::erase_if(steps, [&](const auto& step) { return !blocks.contains(step.first); });
  return steps;
}

std::int64_t mean_ns(std::int64_t sum_ns, std::int64_t windows) {
  return std::llround(static_cast<double>(sum_ns) / static_cast<double>(windows));
}

// The windows of some steps, summed.
struct WindowSum {
  WindowParts parts;
  std::int64_t windows = 0;
  std::map<std::string, std::int64_t> exposed_ns;  ///< by purpose
};

WindowSum sum_of(const CellResult& cell, const Steps& steps) {
  WindowSum sum;
  for (const StepSample& sample : cell.samples) {
    if (!steps.contains({sample.block, sample.step})) continue;
    for (const analysis::Split& split : sample.ranks) {
      sum.parts.compute_ns += split.compute_ns();
      sum.parts.exposed_ns += split.exposed_ns();
      sum.parts.copy_only_ns += split.copy_only_ns;
      sum.parts.idle_ns += split.idle_ns;
      ++sum.windows;
      for (const auto& [purpose, of] : split.purposes) sum.exposed_ns[purpose] += of.exposed_ns;
    }
  }
  return sum;
}

// Each part is rounded by itself and the window is their sum, so that differences add up to the nanosecond.
WindowParts mean_parts(const WindowSum& sum) {
  return {mean_ns(sum.parts.compute_ns, sum.windows), mean_ns(sum.parts.exposed_ns, sum.windows),
          mean_ns(sum.parts.copy_only_ns, sum.windows), mean_ns(sum.parts.idle_ns, sum.windows)};
}

// The same for what compute is made of.
analysis::ComputeParts mean_parts(const analysis::ComputeParts& sum, std::int64_t windows) {
  return {mean_ns(sum.same_kernels_ns, windows), mean_ns(sum.other_kernels_ns, windows),
          mean_ns(sum.concurrency_ns, windows)};
}

void explain_compute(TimeChange& change, const ComputeSinceOff& compute) {
  const analysis::ComputeChange mean{
      mean_parts(compute.change.from, compute.windows), mean_parts(compute.change.to, compute.windows), {}};
  change.from.compute_ns = mean.from.compute_ns();
  change.to.compute_ns = mean.to.compute_ns();
  change.compute = {mean.contention_ns(), mean.decomposition_ns(), mean.concurrency_change_ns()};
}

std::vector<NamedTime> named(const CellResult& cell, const WindowSum& sum, const WindowParts& parts) {
  std::vector<NamedTime> names{{"copy only", parts.copy_only_ns}, {"idle", parts.idle_ns}};
  for (const auto& [purpose, ns] : sum.exposed_ns) names.push_back({"exposed " + purpose, mean_ns(ns, sum.windows)});
  for (const auto& [purpose, ns] : cell.kernel_ns) {
    const auto alone = cell.bound_kernel_ns.find(purpose);
    const std::int64_t alone_ns = alone == cell.bound_kernel_ns.end() ? 0 : alone->second;
    names.push_back({"longer " + purpose, mean_ns(ns, sum.windows) - alone_ns});
  }
  std::erase_if(names, [](const NamedTime& name) { return name.ns <= 0; });
  std::ranges::stable_sort(names, std::greater{}, &NamedTime::ns);
  return names;
}

// Those that kernel_ns sums over: in results of before steps were left out, all of them.
WindowSum windows_of_kernels(const CellResult& cell) {
  const Steps all = traced_steps(cell);
  const WindowSum sum = sum_of(cell, without(all, stalled_steps(cell)));
  return cell.kernel_windows == sum.windows ? sum : sum_of(cell, all);
}

std::int64_t total(const std::map<std::string, std::int64_t>& by_purpose) {
  std::int64_t sum = 0;
  for (const auto& [purpose, ns] : by_purpose) sum += ns;
  return sum;
}

}  // namespace

std::optional<TimeChange> where_time_went(const CellResult& from, const CellResult& to) {
  const Steps stalled = stalled_steps(from, to);
  const Steps from_steps = without(traced_steps(from), stalled);
  const Steps to_steps = without(traced_steps(to), stalled);
  const WindowSum from_sum = sum_of(from, in_blocks_of(from_steps, to_steps));
  const WindowSum to_sum = sum_of(to, in_blocks_of(to_steps, from_steps));
  if (from_sum.windows == 0 || to_sum.windows == 0) return std::nullopt;
  TimeChange change{mean_parts(from_sum), mean_parts(to_sum), {}};
  const auto& compute = to.compute_since_off;
  if (compute && compute->off_cell == from.name && compute->windows == to_sum.windows &&
      compute->windows == from_sum.windows)
    explain_compute(change, *compute);
  return change;
}

std::optional<Excess> excess_over_bound(const CellResult& cell) {
  const WindowSum sum = windows_of_kernels(cell);
  if (!cell.bound_ns || cell.kernel_ns.empty() || cell.bound_kernel_ns.empty() || sum.windows == 0) return std::nullopt;
  const WindowParts parts = mean_parts(sum);
  return Excess{.bound_ns = *cell.bound_ns,
                .parts = parts,
                .kernels_ns = mean_ns(total(cell.kernel_ns), sum.windows),
                .kernels_alone_ns = total(cell.bound_kernel_ns),
                .names = named(cell, sum, parts)};
}

}  // namespace underlap::report
