// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/replay.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "profiler/analysis/mode_name.hpp"

namespace underlap::graph {
namespace {

constexpr double kLargestError = 0.05;

double relative(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double ReplayCheck::error() const { return relative(mean_ns - measured_ns, measured_ns); }
double ReplayCheck::unexplained() const { return std::clamp(relative(measured_ns - zero_ns, measured_ns), 0.0, 1.0); }
bool ReplayCheck::is_too_large() const { return std::abs(error()) > kLargestError; }

ReplayCheck check_replay(const Graph& graph, const Gaps& gaps, const StepTimes& steps) {
  const std::vector<std::int64_t> no_gaps(graph.edges().size());
  ReplayCheck check{.measured_ns = steps.measured().typical_ns(),
                    .mean_ns = steps.of(replay(graph, gaps.mean_ns)).typical_ns(),
                    .zero_ns = steps.of(replay(graph, no_gaps)).typical_ns(),
                    .dropped_edges = static_cast<std::int64_t>(graph.num_dropped())};
  for (const Edge& edge : graph.edges()) {
    ++check.edges[static_cast<std::size_t>(edge.kind)];
    if (edge.is_guessed) ++check.guessed[static_cast<std::size_t>(edge.kind)];
  }
  return check;
}

std::vector<WhatIf> what_if(const Graph& graph, const Gaps& gaps, const StepTimes& steps,
                            std::optional<std::int32_t> late_rank) {
  const EdgeFilter sure{.without_guessed = true};
  const Gaps sure_gaps = measure_gaps(graph, sure);
  const Durations before = steps.measured();
  std::vector<WhatIf> answers;
  const auto ask = [&](const Change& change, std::string name, std::string assumption) {
    answers.push_back({.name = std::move(name),
                       .assumption = std::move(assumption),
                       .before_ns = before.typical_ns(),
                       .after_ns = steps.of(replay(graph, gaps.measured_ns, {}, change)).typical_ns(),
                       .after_unguessed_ns = steps.of(replay(graph, sure_gaps.measured_ns, sure, change)).typical_ns(),
                       .is_step = !before.step_ns.empty()});
  };
  constexpr const char* kRest = "everything else keeps its order, durations and preceding gaps";
  std::set<Mode> modes;
  for (const Node& node : graph.nodes())
    if (node.work == Kind::communication) modes.insert(node.mode);
  for (const Mode mode : modes) {
    const std::string name = analysis::mode_name(mode);
    ask({.without_mode = mode}, fmt::format("without {}", name),
        fmt::format("Communication of {} takes no time and waits for no rank; {}.",
                    mode == Mode::none ? "no known mode" : "mode " + name, kRest));
  }
  if (late_rank)
    ask({.without_rank = late_rank}, fmt::format("with rank {} on time", *late_rank),
        fmt::format("Rank {} arrives at no communication later than the other members; {}.", *late_rank, kRest));
  std::ranges::stable_sort(answers, {}, [](const WhatIf& answer) { return -answer.saved_ns(); });
  return answers;
}

}  // namespace underlap::graph
