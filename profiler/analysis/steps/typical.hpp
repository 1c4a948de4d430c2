// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace underlap::analysis {

/// Values of one figure, by block.
using Blocks = std::map<std::int32_t, std::vector<double>>;

/// The middle of `values`, or the mean of the two in the middle; 0 where there are none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The median over blocks of each block's median; 0 where there are none.
inline double typical(const Blocks& blocks) {
  std::vector<double> medians;
  for (const auto& [block, values] : blocks)
    if (!values.empty()) medians.push_back(median(values));
  return median(std::move(medians));
}

}  // namespace underlap::analysis
