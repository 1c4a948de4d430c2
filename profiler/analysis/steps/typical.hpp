// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "platform/numbers/median.hpp"

namespace underlap::analysis {

/// Values of one figure, by block.
using Blocks = std::map<std::int32_t, std::vector<double>>;

/// The median over blocks of each block's median; 0 where there are none.
inline double typical(const Blocks& blocks) {
  std::vector<double> medians;
  for (const auto& [block, values] : blocks)
    if (!values.empty()) medians.push_back(median(values));
  return median(std::move(medians));
}

}  // namespace underlap::analysis
