// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_math.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace underlap::kernels {
namespace {

TEST(ExpFp32, IsWithinItsErrorOverTheWholeRange) {
  for (float x = -87.3F; x <= 88.3F; x += 0.0007F) {
    const double expected = std::exp(static_cast<double>(x));
    ASSERT_NEAR(exp_fp32(x), expected, 3e-7 * expected) << "at " << x;
  }
}

TEST(ExpFp32, IsExactAtZeroAndHoldsItsEnds) {
  EXPECT_EQ(exp_fp32(0.0F), 1.0F);
  EXPECT_EQ(exp_fp32(-1000.0F), 0.0F);
  EXPECT_EQ(exp_fp32(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_EQ(exp_fp32(1000.0F), exp_fp32(88.3F));
  EXPECT_TRUE(std::isnan(exp_fp32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Fold, TakesEveryElementOfAnyLength) {
  for (std::int64_t n = 1; n <= 50; ++n) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
    EXPECT_EQ(sum(x.data(), n), static_cast<float>(n * (n + 1) / 2));
    EXPECT_EQ(max(x.data(), n), static_cast<float>(n));
    EXPECT_EQ(dot(x.data(), x.data(), n), static_cast<float>(n * (n + 1) * (2 * n + 1) / 6));
  }
}

TEST(Fold, MaxOfNegativeValuesIsOneOfThem) {
  const std::vector<float> x{-5, -3, -9};
  EXPECT_EQ(max(x.data(), 3), -3);
}

}  // namespace
}  // namespace underlap::kernels
