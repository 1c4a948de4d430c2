// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/median_step.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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

}  // namespace underlap::analysis
