// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

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

Matrix normal_block(const View& out, Memory& memory, std::int64_t first, const kernels::MatrixBlock& block) {
  run_operation(memory, kernels::random_normal_block(out, 5, first, 1, block));
  return memory.get(out);
}

/// Rows [row, row + rows) and columns [col, col + cols) of m.
std::vector<double> slice(const Matrix& m, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
  std::vector<double> values;
  for (std::int64_t r = row; r < row + rows; ++r)
    for (std::int64_t c = col; c < col + cols; ++c) values.push_back(m(r, c));
  return values;
}

TEST(RandomNormalBlock, EqualsTheSliceOfTheWholeMatrix) {
  constexpr std::int64_t kRows = 6, kCols = 37;
  const Matrix whole = normal(DataType::f32, kRows, kCols, 5, 0);
  // Columns and rows of a matrix shared by ranks, odd and even, and a corner.
  const std::int64_t blocks[][4] = {{0, 6, 0, 18}, {0, 6, 18, 19}, {3, 3, 0, 37}, {1, 4, 5, 1}, {0, 6, 0, 37}};
  for (const auto& [row, rows, col, cols] : blocks) {
    Memory memory;
    const kernels::MatrixBlock block{.local_cols = cols, .whole_cols = kCols, .first = row * kCols + col};
    const View out = memory.dense(DataType::f32, rows, cols);
    EXPECT_EQ(normal_block(out, memory, 0, block).values, slice(whole, row, rows, col, cols)) << row << ", " << col;
  }
}

TEST(RandomNormalBlock, StretchesOfABlockMakeUpTheBlock) {
  constexpr kernels::MatrixBlock kBlock{.local_cols = 13, .whole_cols = 40, .first = 27};
  Memory memory;
  const Matrix block = normal_block(memory.dense(DataType::f32, 7, 13), memory, 0, kBlock);
  for (const std::int64_t first : {1, 12, 13, 50}) {
    const Matrix stretch = normal_block(memory.dense(DataType::f32, 1, 91 - first), memory, first, kBlock);
    EXPECT_EQ(stretch.values, std::vector<double>(block.values.begin() + first, block.values.end())) << first;
    const Matrix rows = normal_block(memory.columns(DataType::f32, 3, 5, 8, 1), memory, first, kBlock);
    EXPECT_EQ(rows.values, std::vector<double>(block.values.begin() + first, block.values.begin() + first + 15));
  }
}

TEST(RandomNormalBlock, RefusesABlockThatLeavesItsMatrix) {
  Memory memory;
  const View out = memory.dense(DataType::f32, 2, 4);
  for (const kernels::MatrixBlock& block : {kernels::MatrixBlock{0, 8, 0}, {8, 4, 0}, {4, 8, -1}, {4, 8, 5}})
    EXPECT_THROW(kernels::random_normal_block(out, 1, 0, 1, block), std::invalid_argument) << block.first;
  EXPECT_NO_THROW(kernels::random_normal_block(out, 1, 0, 1, {4, 8, 4}));
  EXPECT_THROW(kernels::random_normal_block(out, 1, -1, 1, {4, 8, 4}), std::invalid_argument);
}

TEST(RandomNormal, Bf16IsTheRoundedF32) {
  Matrix expected = normal(DataType::f32, 7, 37, 5, 9, 0.02);
  for (double& value : expected.values) value = static_cast<float>(bf16(static_cast<float>(value)));
  EXPECT_EQ(normal(DataType::bf16, 7, 37, 5, 9, 0.02).values, expected.values);
}

TEST(RandomNormal, HasTheMomentsOfANormalDistribution) {
  constexpr std::int64_t kMany = 200000;
  const Matrix x = normal(DataType::f32, 1, kMany, 11, 0, 2);
  double mean = 0, square = 0, fourth = 0, neighbors = 0;
  for (std::int64_t i = 0; i < kMany; ++i) {
    const double value = x(0, i) / 2;
    mean += value / kMany;
    square += value * value / kMany;
    fourth += value * value * value * value / kMany;
    if (i > 0) neighbors += value * x(0, i - 1) / 2 / kMany;
  }
  // Bounds of five standard errors.
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(kMany));
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / kMany));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / kMany));
  EXPECT_NEAR(neighbors, 0, 5 / std::sqrt(kMany));
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
