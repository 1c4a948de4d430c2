// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace underlap {

/// The value at `place` in ascending order, below the number of values.
template <class T>
T value_at_place(std::vector<T> values, std::size_t place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, at);
  return *at;
}

/// The middle of `values`, or the mean of the two in the middle, of integers rounded down; 0 where there are none.
template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

/// The middle of `values`, or the larger of the two in the middle: always one of them. At least one value.
template <class T>
T upper_median(std::vector<T> values) {
  const std::size_t middle = values.size() / 2;
  return value_at_place(std::move(values), middle);
}

/// The smallest value that at least `percent` of `values` do not exceed. At least one value.
template <class T>
T percentile(std::vector<T> values, std::size_t percent) {
  const std::size_t needed = (values.size() * percent + 99) / 100;
  return value_at_place(std::move(values), std::max<std::size_t>(needed, 1) - 1);
}

/// Of at least one value.
inline double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The sum of squared differences from the mean.
inline double squares_around_mean(std::span<const double> values) {
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return sum;
}

}  // namespace underlap
