// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/details/details.hpp"

#include "profiler/analysis/steps/shown_step.hpp"

namespace underlap::graph {

using analysis::CommonStep, analysis::Communications, analysis::LateRank, analysis::Window;

Details find_details(const Trace& trace, const Communications& communications, std::span<const Window> windows) {
  std::vector<Window> steps;
  for (const Window& window : windows)
    if (window.step >= 0) steps.push_back(window);
  Details details;
  details.waits = analysis::find_waits(trace, communications, steps);
  details.bandwidth = analysis::find_bandwidths(trace);
  details.slowed = analysis::find_slowed_compute(trace);
  details.idle = analysis::find_idle_causes(trace, windows);
  const std::optional<CommonStep> step = analysis::median_step(communications, windows);
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
