// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/summary.hpp"

namespace underlap::compare {

/// The steps of one rank that are compared, by side, in their order.
struct RankPair {
  const analysis::RankSummary* from = nullptr;
  const analysis::RankSummary* to = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> windows{};  ///< places in the windows of either
};

struct WindowPairs {
  std::vector<RankPair> ranks;
  std::vector<std::string> left_out;  ///< a sentence for each thing that has no counterpart
};

/// Ranks by their numbers, or, where no number is on both sides, in their order. Of each the steps by block and number,
/// where both sides have marks that say these; else, or where they have none in common, as many as both have in their
/// order.
WindowPairs pair_windows(const analysis::Summary& from, const analysis::Summary& to);

}  // namespace underlap::compare
