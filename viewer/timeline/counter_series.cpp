// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/counter_series.hpp"

#include <algorithm>
#include <utility>

namespace underlap::viewer {

void ValueRange::take(const ValueRange& more) {
  least = std::min(least, more.least);
  most = std::max(most, more.most);
}

void CounterSeries::finish() {
  std::ranges::stable_sort(samples_, {}, &Sample::time_ns);
  for (std::size_t below = size(); below > kFanOut;) {
    std::vector<ValueRange> level((below + kFanOut - 1) / kFanOut);
    for (std::size_t i = 0; i < below; ++i)
      level[i / kFanOut].take(levels_.empty() ? ValueRange{value(i), value(i)} : levels_.back()[i]);
    below = level.size();
    levels_.push_back(std::move(level));
  }
}

std::size_t CounterSeries::first_at(std::int64_t time_ns) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(samples_, time_ns, {}, &Sample::time_ns) - samples_.begin());
}

// The ends of the range at each level, and the rest one level up.
ValueRange CounterSeries::range(std::size_t from, std::size_t to) const {
  ValueRange all;
  for (std::size_t level = 0; from < to; ++level) {
    const auto take = [&](std::size_t i) {
      all.take(level == 0 ? ValueRange{value(i), value(i)} : levels_[level - 1][i]);
    };
    const bool is_top = level == levels_.size();
    while (from < to && (is_top || from % kFanOut != 0)) take(from++);
    while (from < to && to % kFanOut != 0) take(--to);
    from /= kFanOut;
    to /= kFanOut;
  }
  return all;
}

}  // namespace underlap::viewer
