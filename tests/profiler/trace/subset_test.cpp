// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/subset.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/profiler/random_trace.hpp"

namespace underlap {
namespace {

using testing_support::everything, testing_support::random_trace;

TEST(Subset, OfEveryRankIsTheTrace) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Trace trace = random_trace(random, {.num_ranks = 3, .is_foreign = true});
    EXPECT_EQ(everything(subset(trace, {})), everything(trace));
  }
}

TEST(Subset, OfOneRankEachJoinIntoTheTrace) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Trace ordered;  // by rank, as traces of ranks are when they are joined
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      const Trace all = random_trace(random, {.num_ranks = 3});
      ordered.append(subset(all, [&](std::int32_t other) { return other == rank; }));
    }
    Trace joined;
    for (std::int32_t rank = 0; rank < 3; ++rank)
      joined.append(subset(ordered, [&](std::int32_t other) { return other == rank; }));
    EXPECT_EQ(everything(joined), everything(ordered));
  }
}

TEST(Subset, LosesTheFlowsOfSlicesThatAreNotWanted) {
  Trace trace;
  for (std::int32_t rank = 0; rank < 2; ++rank)
    for (std::int64_t i = 0; i < 2; ++i)
      trace.add({.track = trace.add_track({rank, 0, "compute"}), .start_ns = i * 10, .duration_ns = 5, .tag = {}});
  trace.flows = {{0, 1}, {0, 2}, {2, 3}};
  const Trace part = subset(trace, [](std::int32_t rank) { return rank == 1; });
  EXPECT_EQ(part.size(), 2U);
  EXPECT_EQ(part.flows, (std::vector<Flow>{{0, 1}}));
  EXPECT_EQ(part.tracks.size(), 1U);
}

}  // namespace
}  // namespace underlap
