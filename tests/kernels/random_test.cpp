// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/random.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

Matrix normal(DataType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed, std::int64_t first,
              double stddev = 1) {
  Memory memory;
  const View out = memory.columns(dtype, rows, cols, cols + 3, 1);
  run_operation(memory, kernels::random_normal(out, seed, first, stddev));
  return memory.get(out);
}

TEST(RandomNormal, AShardEqualsTheSliceOfTheWhole) {
  const Matrix whole = normal(DataType::f32, 7, 37, 5, 0);
  for (const std::int64_t first : {0, 1, 36, 37, 100}) {
    const Matrix shard = normal(DataType::f32, 1, 259 - first, 5, first);
    const std::vector<double> slice(whole.values.begin() + first, whole.values.end());
    EXPECT_EQ(shard.values, slice) << "from " << first;
  }
}

TEST(RandomNormal, Bf16IsTheRoundedF32) {
  Matrix expected = normal(DataType::f32, 7, 37, 5, 9, 0.02);
  for (double& value : expected.values) value = static_cast<float>(bf16(static_cast<float>(value)));
  EXPECT_EQ(normal(DataType::bf16, 7, 37, 5, 9, 0.02).values, expected.values);
}

TEST(RandomNormal, HasTheMomentsOfANormalDistribution) {
  constexpr std::int64_t kMany = 200000;
  const Matrix x = normal(DataType::f32, 1, kMany, 11, 0, 2);
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  for (std::int64_t i = 0; i < kMany; ++i) {
    const double value = x(0, i) / 2;
    mean += value / kMany;
    square += value * value / kMany;
    fourth += value * value * value * value / kMany;
    if (i > 0) neighbours += value * x(0, i - 1) / 2 / kMany;
  }
  // Bounds of five standard errors.
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(kMany));
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / kMany));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / kMany));
  EXPECT_NEAR(neighbours, 0, 5 / std::sqrt(kMany));
}

TEST(RandomNormal, DependsOnTheSeed) {
  EXPECT_NE(normal(DataType::f32, 1, 8, 1, 0).values, normal(DataType::f32, 1, 8, 2, 0).values);
  EXPECT_NE(normal(DataType::f32, 1, 8, 1, 0).values, normal(DataType::f32, 1, 8, 1ULL << 32, 0).values);
}

TEST(RandomNormal, RefusesANegativeIndexOrDeviation) {
  EXPECT_THROW(normal(DataType::f32, 1, 8, 1, -1), std::invalid_argument);
  EXPECT_THROW(normal(DataType::f32, 1, 8, 1, 0, -1), std::invalid_argument);
  EXPECT_THROW(normal(DataType::i32, 1, 8, 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
