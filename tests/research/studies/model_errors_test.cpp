// SPDX-License-Identifier: Apache-2.0
#include "research/studies/model_errors.hpp"

#include <gtest/gtest.h>

namespace underlap::bench {
namespace {

TEST(Errors, AreTheMedianTheMeanAbsoluteAndTheFurthestFromZero) {
  const Errors errors = errors_of({0.3, -0.1, 0.0});
  EXPECT_EQ(errors.points, 3U);
  EXPECT_DOUBLE_EQ(errors.median, 0);
  EXPECT_DOUBLE_EQ(errors.mean_absolute, 0.4 / 3);
  EXPECT_DOUBLE_EQ(errors.largest, 0.3);
  EXPECT_DOUBLE_EQ(errors_of({0.3, -0.4}).largest, -0.4) << "with its sign";
}

TEST(Errors, OfAnEvenNumberHaveTheMeanOfTheMiddleTwoAsMedian) {
  EXPECT_DOUBLE_EQ(errors_of({0.5, -0.2, 0.1, 0.3}).median, 0.2);
}

TEST(Errors, OfNothingAreZero) {
  EXPECT_EQ(errors_of({}).points, 0U);
  EXPECT_EQ(errors_of({}).largest, 0);
}

TEST(Errors, AreWrittenAsPercentsThatAreNeverMinusZero) {
  EXPECT_EQ(percent(0.0468), "4.7 %");
  EXPECT_EQ(signed_percent(0.0468), "+4.7 %");
  EXPECT_EQ(signed_percent(-0.0468), "-4.7 %");
  EXPECT_EQ(signed_percent(-0.0001), "+0.0 %");
}

}  // namespace
}  // namespace underlap::bench
