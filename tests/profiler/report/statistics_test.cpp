// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

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
}

TEST(Statistics, RefusesNothingNanAndImpossibleShares) {
  const Values with_nan{1, std::nan(""), 2};
  EXPECT_THROW(median(Values{}), std::invalid_argument);
  EXPECT_THROW(median(with_nan), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, std::nan("")), std::invalid_argument);
  EXPECT_THROW(median_interval(with_nan), std::invalid_argument);
  EXPECT_THROW(median_interval(Values{}), std::invalid_argument);
  EXPECT_THROW(block_median({{0, with_nan}}), std::invalid_argument);
  EXPECT_THROW(block_median({{0, {}}}), std::invalid_argument);
  EXPECT_THROW(block_median({}), std::invalid_argument);
}

TEST(Statistics, InfinityIsOrderedNotRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(median(Values{1, infinity, 2}), 2);
  EXPECT_EQ(quantile(Values{1, infinity}, 1), infinity);
}

TEST(MedianInterval, OneBlockHasNone) { EXPECT_FALSE(median_interval(Values{5}).has_value()); }

TEST(MedianInterval, OfFewBlocksIsStudents) {
  // Of the logarithms, with one degree of freedom: 12.7062 * log(9 / 5) / 2 around their mean.
  const auto interval = median_interval(Values{5, 9});
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, std::sqrt(45.0) * std::exp(-12.7062 * std::log(1.8) / 2), 1e-4);
  EXPECT_NEAR(interval->high, std::sqrt(45.0) * std::exp(12.7062 * std::log(1.8) / 2), 0.01);
  // Without logarithms: 0.5 -+ 4.30265 * 1.5 / 3^0.5.
  const auto of_differences = median_interval(Values{-1, 0.5, 2});
  EXPECT_NEAR(of_differences->low, 0.5 - 4.30265 * 1.5 / std::sqrt(3.0), 1e-4);
  EXPECT_NEAR(of_differences->high, 0.5 + 4.30265 * 1.5 / std::sqrt(3.0), 1e-4);
}

TEST(MedianInterval, OfManyBlocksIsTwoOfTheirFigures) {
  EXPECT_EQ(median_interval(Values{3, 1, 4, 2, 6, 500})->low, 1);
  EXPECT_EQ(median_interval(Values{3, 1, 4, 2, 6, 500})->high, 500);
  // Conover's table of the binomial distribution: of ten the second and the ninth hold the median with 97.9 %.
  const auto of_ten = median_interval(Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(of_ten->low, 2);
  EXPECT_EQ(of_ten->high, 9);
}

TEST(MedianInterval, OfEqualBlocksHasNoWidth) {
  for (const std::size_t blocks : {2U, 6U}) {
    const auto interval = median_interval(Values(blocks, 3.5));
    ASSERT_TRUE(interval);
    EXPECT_EQ(interval->low, 3.5);
    EXPECT_EQ(interval->half_width(), 0);
  }
  EXPECT_FALSE(median_interval(Values{1, std::numeric_limits<double>::infinity()}).has_value());
}

// What blocks are drawn from.
enum class Noise { normal, heavy_tail, dependent_steps };

double block_of(Noise noise, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  if (noise == Noise::normal) return 10 + 2 * normal(engine);
  if (noise == Noise::heavy_tail) return 10 + std::student_t_distribution<double>(3)(engine);
  Values steps;
  for (double drift = normal(engine); steps.size() < 9; drift = 0.5 * drift + std::sqrt(0.75) * normal(engine))
    steps.push_back(10 + drift);
  return median(steps);
}

// Share of samples of `blocks` blocks whose interval holds the true median, 10.
double coverage(int blocks, Noise noise) {
  std::mt19937_64 engine(11);
  constexpr int kTrials = 4000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Values values;
    for (int i = 0; i < blocks; ++i) values.push_back(block_of(noise, engine));
    const auto interval = median_interval(values);
    held += interval->low <= 10 && 10 <= interval->high;
  }
  return held / static_cast<double>(kTrials);
}

// 4000 trials scatter by 0.35 points: four of them below what is said.
TEST(MedianInterval, HoldsTheTruthAsOftenAsItSays) {
  for (const Noise noise : {Noise::normal, Noise::heavy_tail, Noise::dependent_steps})
    for (const int blocks : {2, 3, 5, 7, 10, 20})
      EXPECT_GE(coverage(blocks, noise), 0.936) << blocks << " blocks, noise " << static_cast<int>(noise);
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

TEST(BlocksToResolve, AreWhatBringsTheIntervalDown) {
  const Estimate observed{1.0, Interval{0.96, 1.04}, 5};
  EXPECT_EQ(blocks_to_resolve(observed, 0.041), 5);
  EXPECT_EQ(blocks_to_resolve(observed, 0.1), 5);
  EXPECT_EQ(blocks_to_resolve({1.0, std::nullopt, 1}, 0.01), std::nullopt);
  EXPECT_THROW(blocks_to_resolve(observed, 0), std::invalid_argument);
  // Two blocks know little of their spread: four more would do for a tenth of what they show.
  EXPECT_LE(*blocks_to_resolve({1.0, Interval{0.5, 1.5}, 2}, 0.1), 8);
}

TEST(BlocksToResolve, HoldOnAverage) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal(10, 1);
  const auto mean_half_width = [&](std::int64_t blocks) {
    double sum = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      Values values;
      for (std::int64_t i = 0; i < blocks; ++i) values.push_back(normal(engine));
      sum += median_interval(values)->half_width();
    }
    return sum / 2000;
  };
  for (const double resolution : {0.6, 0.3, 0.1}) {
    const double now = mean_half_width(5);
    const std::int64_t blocks = *blocks_to_resolve({10, Interval{10 - now, 10 + now}, 5}, resolution);
    EXPECT_NEAR(mean_half_width(blocks), resolution, 0.15 * resolution) << blocks;
  }
}

}  // namespace
}  // namespace underlap::report
