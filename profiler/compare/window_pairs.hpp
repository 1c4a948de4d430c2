// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/summary.hpp"

namespace underlap::compare {

/// The steps of one rank of either side that are held against each other, in their order.
struct RankPair {
  const analysis::RankSummary* from = nullptr;
  const analysis::RankSummary* to = nullptr;
  std::size_t windows = 0;  ///< the first of either
};

struct WindowPairs {
  std::vector<RankPair> ranks;
  std::vector<std::string> left_out;  ///< a sentence for each thing that has no counterpart
};

/// Ranks by their numbers, or, where no number is on both sides, in their order; of each as many steps as both have.
WindowPairs pair_windows(const analysis::Summary& from, const analysis::Summary& to);

}  // namespace underlap::compare
