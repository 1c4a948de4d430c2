// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/counter_series.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace underlap::viewer {

void ValueRange::take(const ValueRange& more) {
  least = std::min(least, more.least);
  most = std::max(most, more.most);
}

void CounterSeries::add(std::int64_t time_ns, double value) {
  time_ns_.push_back(time_ns);
  value_.push_back(value);
}

void CounterSeries::finish() {
  if (!std::ranges::is_sorted(time_ns_)) {
    std::vector<std::size_t> order(size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return time_ns_[i]; });
    CounterSeries sorted;
    for (const std::size_t i : order) sorted.add(time_ns_[i], value_[i]);
    *this = std::move(sorted);
  }
  for (std::size_t below = size(); below > kFanOut;) {
    std::vector<ValueRange> level((below + kFanOut - 1) / kFanOut);
    for (std::size_t i = 0; i < below; ++i)
      level[i / kFanOut].take(levels_.empty() ? ValueRange{value_[i], value_[i]} : levels_.back()[i]);
    below = level.size();
    levels_.push_back(std::move(level));
  }
}

std::size_t CounterSeries::first_at(std::int64_t time_ns) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(time_ns_, time_ns) - time_ns_.begin());
}

// The ends of the range at each level, and the rest one level up.
ValueRange CounterSeries::range(std::size_t from, std::size_t to) const {
  ValueRange all;
  for (std::size_t level = 0; from < to; ++level) {
    const auto take = [&](std::size_t i) {
      all.take(level == 0 ? ValueRange{value_[i], value_[i]} : levels_[level - 1][i]);
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
