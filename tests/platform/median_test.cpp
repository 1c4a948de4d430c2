// SPDX-License-Identifier: Apache-2.0
#include "platform/numbers/median.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace underlap {
namespace {

using Integers = std::vector<std::int64_t>;
using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median(Values{}), 0);
  EXPECT_EQ(median(Values{7}), 7);
  EXPECT_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_EQ(median(Values{9, 1, 5, 2}), 3.5);
}

TEST(Median, OfIntegersIsRoundedDownAndDoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(median(Integers{5, 2}), 3);
  EXPECT_EQ(median(Integers{-5, -2}), -4);
  EXPECT_EQ(median(Integers{kMost, kMost - 2}), kMost - 1);
  EXPECT_EQ(median(Integers{-kMost, kMost}), 0);
}

TEST(UpperMedian, IsOneOfTheValues) {
  EXPECT_EQ(upper_median(Values{9, 1, 5, 2}), 5);
  EXPECT_EQ(upper_median(Values{9, 1, 5}), 5);
}

TEST(Percentile, IsTheSmallestValueThatSoManyDoNotExceed) {
  Integers values;
  for (std::int64_t i = 200; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 50), 100);
  EXPECT_EQ(percentile(values, 99), 198);
  EXPECT_EQ(percentile(values, 100), 200);
}

TEST(Mean, IsTheSumByTheNumberOfValues) {
  EXPECT_EQ(mean(Values{1, 2, 6}), 3);
  EXPECT_EQ(squares_around_mean(Values{1, 2, 6}), 14);
}

}  // namespace
}  // namespace underlap
