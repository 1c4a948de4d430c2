// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/block_figures.hpp"

#include <gtest/gtest.h>

#include "platform/errors.hpp"
#include "profiler/trace/subset.hpp"
#include "tests/profiler/random_trace.hpp"

namespace underlap::report {
namespace {

Trace trace_of(unsigned seed) {
  std::mt19937 random(seed);
  return testing_support::random_trace(random, {.num_ranks = 3, .num_slices = 120, .num_steps = 5});
}

TEST(BlockFigures, OfRanksAddUpToThoseOfTheirJoinedTrace) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Trace trace = trace_of(seed);
    const BlockFigures joined = figures_of(trace, true, 2);
    ASSERT_FALSE(joined.splits.empty());
    ASSERT_FALSE(joined.kernels.compute.empty());
    BlockFigures figures;
    for (std::int32_t rank = 0; rank < 3; ++rank)
      append(figures, figures_of(subset(trace, [&](std::int32_t other) { return other == rank; }), true, 2));
    EXPECT_TRUE(figures == joined) << "seed " << seed;
  }
}

// A run's own traces say how many bytes were sent, so its figures have no count of those that do not.
TEST(BlockFigures, ComeBackFromTheirBytesAsTheyWere) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    BlockFigures figures = figures_of(trace_of(seed), true, 2);
    for (analysis::Split& split : figures.splits)
      for (auto* const parts : {&split.modes, &split.purposes})
        for (auto& [key, part] : *parts) part.without_bytes = 0;
    EXPECT_TRUE(decode_figures(encode(figures)) == figures) << "seed " << seed;
    EXPECT_TRUE(decode_kernel_times(encode(figures.kernels)) == figures.kernels) << "seed " << seed;
  }
}

TEST(BlockFigures, OfMarksAloneAreWindows) {
  const BlockFigures figures = figures_of(trace_of(1), false, 2);
  EXPECT_EQ(figures.windows.size(), 3U * 4U);
  EXPECT_TRUE(figures.splits.empty());
  EXPECT_TRUE(figures.kernels == KernelTimes{});
  EXPECT_TRUE(decode_figures(encode(figures)) == figures);
}

TEST(BlockFigures, RefuseMarksThatBoundNoWindows) {
  Trace trace = trace_of(1);
  trace.marks.push_back(trace.marks.front());
  EXPECT_THROW(figures_of(trace, true, 2), MachineError);
}

TEST(BlockFigures, DamagedBytesAreRefused) {
  const std::string bytes = encode(figures_of(trace_of(1), true, 2));
  EXPECT_THROW(decode_figures(""), std::invalid_argument);
  EXPECT_THROW(decode_kernel_times(bytes), std::invalid_argument);
  for (std::size_t length = 0; length < bytes.size(); length += 7)
    EXPECT_THROW(decode_figures(std::string_view(bytes).substr(0, length)), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::report
