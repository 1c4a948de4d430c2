// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/details/details.hpp"

namespace underlap::graph {
namespace {

using analysis::Communications, analysis::Interval, analysis::LateRank, analysis::Window;

// A step over all ranks, on the clock of all: from the last begin to the last end of any rank.
struct CommonStep {
  Window first;
  Interval span;
};

std::optional<CommonStep> median_step(const Communications& communications, std::span<const Window> windows) {
  std::map<std::pair<std::int32_t, std::int32_t>, CommonStep> steps;
  for (const Window& window : windows) {
    if (window.step < 0) continue;
    const Interval own{communications.common_ns(window.rank, window.begin_ns),
                       communications.common_ns(window.rank, window.end_ns)};
    CommonStep& step = steps.try_emplace({window.block, window.step}, CommonStep{window, own}).first->second;
    step.span.begin = std::max(step.span.begin, own.begin);
    step.span.end = std::max(step.span.end, own.end);
  }
  if (steps.empty()) return std::nullopt;
  std::vector<CommonStep> by_length;
  for (const auto& [key, step] : steps) by_length.push_back(step);
  std::ranges::stable_sort(by_length, {}, [](const CommonStep& step) { return step.span.length(); });
  return by_length[(by_length.size() - 1) / 2];
}

}  // namespace

Details find_details(const Trace& trace, const Communications& communications, std::span<const Window> windows) {
  std::vector<Window> steps;
  for (const Window& window : windows)
    if (window.step >= 0) steps.push_back(window);
  Details details;
  details.waits = analysis::find_waits(trace, communications, steps);
  details.bandwidth = analysis::find_bandwidths(trace);
  details.slowed = analysis::find_slowed_compute(trace);
  details.idle = analysis::find_idle_causes(trace, windows);
  const std::optional<CommonStep> step = median_step(communications, windows);
  if (step) details.path_step = step->first;
  const Graph graph = build_graph(trace, communications);
  const Gaps gaps = measure_gaps(graph);
  const StepTimes step_times(graph, communications, steps);
  details.path = find_critical_path(graph, gaps, step ? step->span : span_of_all(graph));
  std::optional<std::int32_t> late;
  if (const std::optional<LateRank> found = details.waits.late_rank()) late = found->rank;
  details.replay = check_replay(graph, gaps, step_times);
  if (!details.replay.is_too_large()) details.what_if = what_if(graph, gaps, step_times, late);
  return details;
}

}  // namespace underlap::graph
