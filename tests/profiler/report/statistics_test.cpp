// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace underlap::report {
namespace {

using Values = std::vector<double>;

TEST(Statistics, QuantileInterpolatesBetweenOrderStatistics) {
  const Values values{40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(median(values), 25);
  EXPECT_DOUBLE_EQ(median(Values{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median(Values{7}), 7);
  EXPECT_DOUBLE_EQ(mean(values), 25);
}

TEST(Statistics, RefusesNothingNanAndImpossibleShares) {
  const Values with_nan{1, std::nan(""), 2};
  EXPECT_THROW(median(Values{}), std::invalid_argument);
  EXPECT_THROW(median(with_nan), std::invalid_argument);
  EXPECT_THROW(mean(with_nan), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, std::nan("")), std::invalid_argument);
  EXPECT_THROW(bootstrap(with_nan), std::invalid_argument);
  EXPECT_THROW(bootstrap(Values{}), std::invalid_argument);
  EXPECT_THROW(bootstrap(Values{1, 2}, median, 1.0), std::invalid_argument);
  EXPECT_THROW(block_median({{0, with_nan}}), std::invalid_argument);
  EXPECT_THROW(block_median({{0, {}}}), std::invalid_argument);
  EXPECT_THROW(block_median({}), std::invalid_argument);
}

TEST(Statistics, InfinityIsOrderedNotRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(median(Values{1, infinity, 2}), 2);
  EXPECT_EQ(quantile(Values{1, infinity}, 1), infinity);
}

TEST(Bootstrap, OneBlockHasNoInterval) { EXPECT_FALSE(bootstrap(Values{5}).has_value()); }

TEST(Bootstrap, TwoBlocksGiveTheirRange) {
  const auto interval = bootstrap(Values{5, 9});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 5);
  EXPECT_DOUBLE_EQ(interval->high, 9);
}

TEST(Bootstrap, EqualBlocksGiveAnIntervalOfNoWidth) {
  const auto interval = bootstrap(Values(6, 3.5));
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 3.5);
  EXPECT_EQ(interval->half_width(), 0);
}

TEST(Bootstrap, SameSeedSameIntervalOtherSeedAnother) {
  Values values;
  for (int i = 0; i < 30; ++i) values.push_back(std::sin(i));
  const auto first = bootstrap(values, mean, 0.95, 3);
  const auto again = bootstrap(values, mean, 0.95, 3);
  const auto other = bootstrap(values, mean, 0.95, 4);
  EXPECT_EQ(first->low, again->low);
  EXPECT_EQ(first->high, again->high);
  EXPECT_NE(first->low, other->low);
}

TEST(Bootstrap, WiderLevelGivesWiderInterval) {
  Values values;
  for (int i = 0; i < 30; ++i) values.push_back(i);
  EXPECT_GT(bootstrap(values, mean, 0.99)->half_width(), bootstrap(values, mean, 0.5)->half_width());
}

// Share of `trials` samples of `n` normal blocks whose interval holds the true median, 10.
double coverage(int n, Statistic statistic) {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal(10, 2);
  constexpr int kTrials = 300;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Values values;
    for (int i = 0; i < n; ++i) values.push_back(normal(engine));
    const auto interval = bootstrap(values, statistic, 0.95, static_cast<std::uint64_t>(trial));
    held += interval->low <= 10 && 10 <= interval->high;
  }
  return held / static_cast<double>(kTrials);
}

TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
  EXPECT_NEAR(coverage(25, median), 0.95, 0.04);
  EXPECT_NEAR(coverage(25, mean), 0.95, 0.04);
}

TEST(Bootstrap, FewBlocksCoverNoMoreThanBestCoverageSays) {
  EXPECT_DOUBLE_EQ(best_coverage(1), 0);
  EXPECT_DOUBLE_EQ(best_coverage(5), 0.9375);
  EXPECT_NEAR(coverage(2, median), best_coverage(2), 0.08);
  EXPECT_NEAR(coverage(3, median), best_coverage(3), 0.08);
  EXPECT_THROW(best_coverage(0), std::invalid_argument);
}

TEST(BlockMedian, IsTheMedianOfBlockMedians) {
  // Pooled, the median would be 1: blocks weigh the same, however many steps they have.
  const Estimate estimate = block_median({{0, {1, 1, 1, 1, 1}}, {1, {5}}, {2, {6, 8}}});
  EXPECT_DOUBLE_EQ(estimate.value, 5);
  EXPECT_EQ(estimate.blocks, 3);
  ASSERT_TRUE(estimate.interval);
}

TEST(PairedRatio, DriftThatHitsBothSidesCancels) {
  Blocks slow, fast;
  for (int block = 0; block < 6; ++block) {
    const double drift = std::exp2(block);
    slow[block] = {3 * drift, 4 * drift, 5 * drift};
    fast[block] = {2 * drift};
  }
  const Estimate ratio = paired_ratio(slow, fast);
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.interval->half_width(), 0, 1e-12);
}

TEST(PairedRatio, UsesOnlyBlocksThatBothHave) {
  const Estimate ratio = paired_ratio({{0, {2}}, {1, {100}}}, {{0, {1}}, {2, {1}}});
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.blocks, 1);
  EXPECT_FALSE(ratio.interval);
  EXPECT_THROW(paired_ratio({{0, {1}}}, {{1, {1}}}), std::invalid_argument);
}

TEST(PairedRatio, RefusesADivisorThatIsNotPositive) {
  EXPECT_THROW(paired_ratio({{0, {1}}}, {{0, {0}}}), std::invalid_argument);
  EXPECT_THROW(paired_ratio({{0, {1}}}, {{0, {-1}}}), std::invalid_argument);
  EXPECT_THROW(paired_ratio({{0, {1}}}, {{0, {std::nan("")}}}), std::invalid_argument);
}

TEST(BlocksToResolve, GrowsWithTheSquareOfThePrecisionAsked) {
  const Estimate observed{1.0, Interval{0.96, 1.04}, 5};
  EXPECT_EQ(blocks_to_resolve(observed, 0.041), 5);
  EXPECT_EQ(blocks_to_resolve(observed, 0.1), 5);
  EXPECT_EQ(blocks_to_resolve(observed, 0.02 - 1e-9), 21);
  EXPECT_EQ(blocks_to_resolve({1.0, std::nullopt, 1}, 0.01), std::nullopt);
  EXPECT_THROW(blocks_to_resolve(observed, 0), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::report
