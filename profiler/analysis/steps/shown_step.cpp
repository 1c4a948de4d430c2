// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/shown_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace underlap::analysis {

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

std::vector<Window> windows_of_step(const Trace& trace, std::span<const Window> windows, std::int32_t block,
                                    std::int32_t step) {
  const std::vector<Window> marked = windows.empty() ? find_windows(trace).windows : std::vector<Window>();
  std::vector<Window> found;
  std::set<std::pair<std::int32_t, std::int32_t>> known;
  for (const Window& w : windows.empty() ? std::span<const Window>(marked) : windows) {
    known.emplace(w.block, w.step);
    if (w.block == block && w.step == step) found.push_back(w);
  }
  if (!found.empty()) return found;
  std::string there_are;
  for (const auto& [of_block, of_step] : known) there_are += fmt::format(" {}/{}", of_block, of_step);
  throw std::invalid_argument(fmt::format("no step {} in block {} of this trace; available block/step:{}", step, block,
                                          there_are.empty() ? " none" : there_are));
}

}  // namespace underlap::analysis
