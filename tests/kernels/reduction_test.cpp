// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduction/reduction.hpp"

#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

TEST(SumOfSquares, AddsToWhatWasThereInBothTypes) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    Memory memory;
    const View x = memory.randomize(memory.columns(dtype, 7, 37, 40, 2));
    const View out = memory.row_of(DataType::f32, {100});
    const Matrix values = memory.get(x);
    run_operation(memory, kernels::sum_of_squares(x, out));
    EXPECT_NEAR(memory.get(out)(0, 0), 100 + inner_product(values, values), 1e-4);
  }
}

TEST(SumOfSquares, LosesNoSmallValuesAmongMany) {
  Memory memory;
  constexpr std::int64_t kMany = 1 << 20;
  // In fp32, 2^20 squares of 2^-12 added to 2^12 one by one would all be lost.
  std::vector<double> values(kMany, 1.0 / 4096);
  values[0] = 64;
  const View x = memory.set(memory.dense(DataType::f32, 1, kMany), values);
  const View out = memory.dense(DataType::f32, 1, 1);
  run_operation(memory, kernels::sum_of_squares(x, out));
  EXPECT_EQ(memory.get(out)(0, 0), static_cast<float>(4096 + (kMany - 1) / 16777216.0));
}

TEST(SumOfSquaresIn, AddsWhatLiesInTheRangesAlone) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> ranges{{3, 3},   {3, 5},     {5, 64},
                                                                  {66, 66}, {130, 131}, {901, 1001}};
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    Memory memory;
    const View x = memory.random(dtype, 1, 1001);
    std::vector<double> bounds;
    double expected = 7;
    const Matrix values = memory.get(x);
    for (const auto& [begin, end] : ranges) {
      bounds.insert(bounds.end(), {static_cast<double>(begin), static_cast<double>(end)});
      for (std::int64_t i = begin; i < end; ++i) expected += values(0, i) * values(0, i);
    }
    const View places = memory.set(memory.dense(DataType::f64, std::ssize(ranges), 2), bounds);
    const View out = memory.row_of(DataType::f32, {7});
    run_operation(memory, kernels::sum_of_squares_in(x, places, out));
    EXPECT_NEAR(memory.get(out)(0, 0), expected, 1e-4);
  }
}

double clip_factor(double sum, double max_norm) {
  Memory memory;
  const View squares = memory.row_of(DataType::f32, {sum});
  const View factor = memory.dense(DataType::f32, 1, 1);
  run_operation(memory, kernels::clip_factor(squares, factor, max_norm));
  return memory.get(factor)(0, 0);
}

TEST(ClipFactor, BringsALargeNormDownToTheBound) {
  EXPECT_NEAR(clip_factor(16, 1), 0.25, 1e-6);
  EXPECT_EQ(clip_factor(0.25, 1), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
}

TEST(ClipFactor, IsOneWithoutABound) { EXPECT_EQ(clip_factor(1e6, 0), 1); }

TEST(ClipFactor, IsNanForASumThatIsNotFinite) {
  EXPECT_TRUE(std::isnan(clip_factor(std::numeric_limits<double>::infinity(), 1)));
  EXPECT_TRUE(std::isnan(clip_factor(std::numeric_limits<double>::quiet_NaN(), 1)));
}

TEST(ClipFactor, RefusesANegativeBound) { EXPECT_THROW(clip_factor(1, -1), std::invalid_argument); }

/// 3000 columns: more than one block of the kernel, and a remainder.
constexpr std::int64_t kSlots = 3, kColumns = 3000;

class SumSlots : public testing::TestWithParam<std::tuple<DataType, DataType>> {};

TEST_P(SumSlots, SumsInFp32AndRoundsOnce) {
  const auto [from, to] = GetParam();
  Memory memory;
  const View slots = memory.randomize(memory.columns(from, kSlots, kColumns, kColumns + 3, 1));
  const View out = memory.dense(to, 1, kColumns);
  run_operation(memory, kernels::sum_slots(slots, out, 0.5));
  const Matrix x = memory.get(slots);
  const Matrix expected =
      matrix_of(1, kColumns, [&](std::int64_t, std::int64_t c) { return 0.5 * (x(0, c) + x(1, c) + x(2, c)); });
  expect_close(memory.get(out), expected, to == DataType::f32 ? kFp32 : kBf16Rounded);
}

INSTANTIATE_TEST_SUITE_P(Types, SumSlots,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16),
                                          testing::Values(DataType::f32, DataType::bf16)));

TEST(SumSlotsOrder, IsTheOrderOfTheSlots) {
  Memory memory;
  const View slots = memory.set(memory.dense(DataType::f32, 3, 1), std::vector<double>{1e8, 1, -1e8});
  const View out = memory.dense(DataType::f32, 1, 1);
  run_operation(memory, kernels::sum_slots(slots, out, 1));
  EXPECT_EQ(memory.get(out)(0, 0), 0);  // 1e8 + 1 rounds back to 1e8 in fp32
}

class SumFp8Slots : public testing::TestWithParam<std::tuple<DataType, DataType>> {};

// Into columns of something wider, as a split is.
TEST_P(SumFp8Slots, ScalesEachSlotByItsOwnAndRoundsOnce) {
  const auto [from, to] = GetParam();
  constexpr std::int64_t kRows = 5, kCols = 40;
  Memory memory;
  const View slots = memory.random(from, kSlots * kRows, kCols);
  const View scales = memory.row_of(DataType::f32, {0.5, 3, 1e-3});
  const View out = memory.columns(to, kRows, kCols, 3 * kCols, kCols);
  run_operation(memory, kernels::sum_fp8_slots(slots, scales, out));
  const Matrix x = memory.get(slots);
  const Matrix expected = matrix_of(kRows, kCols, [&](std::int64_t r, std::int64_t c) {
    return 0.5 * x(r, c) + 3 * x(kRows + r, c) + 1e-3 * x(2 * kRows + r, c);
  });
  expect_close(memory.get(out), expected, to == DataType::f32 ? kFp32 : kBf16Rounded);
}

INSTANTIATE_TEST_SUITE_P(Types, SumFp8Slots,
                         testing::Combine(testing::Values(DataType::f8e4m3, DataType::f8e5m2),
                                          testing::Values(DataType::f32, DataType::bf16)));

// As the CPU implementation has it, in slot order; subnormal values and both signs among them.
TEST(SumFp8SlotsShapes, SumManySlotsInOrderToTheBit) {
  constexpr std::int64_t kMany = 11, kRows = 3, kCols = 24;
  for (const DataType from : {DataType::f8e4m3, DataType::f8e5m2}) {
    Memory memory;
    const View slots = memory.dense(from, kMany * kRows, kCols), scales = memory.dense(DataType::f32, 1, kMany);
    const View out = memory.dense(DataType::f32, kRows, kCols);
    const double smallest = from == DataType::f8e4m3 ? 0x1p-9 : 0x1p-16;
    memory.set(slots, [&](std::int64_t i) {
      return (i % 2 == 0 ? 1 : -1) * std::ldexp(smallest * static_cast<double>(i % 3 + 1), static_cast<int>(i % 17));
    });
    memory.set(scales, [](std::int64_t k) { return 1 / (3.0 + static_cast<double>(k)); });
    run_operation(memory, kernels::sum_fp8_slots(slots, scales, out));
    const Matrix x = memory.get(slots), factors = memory.get(scales), sums = memory.get(out);
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < kCols; ++c) {
        float expected = 0;
        for (std::int64_t k = 0; k < kMany; ++k)
          expected += static_cast<float>(x(k * kRows + r, c)) * static_cast<float>(factors(0, k));
        ASSERT_EQ(static_cast<float>(sums(r, c)), expected) << to_string(from) << " " << r << ", " << c;
      }
  }
}

TEST(SumFp8SlotsShapes, RefuseSlotsWithoutAScaleEach) {
  Memory memory;
  const View slots = memory.dense(DataType::f8e4m3, 4, 8), scales = memory.dense(DataType::f32, 1, 3);
  EXPECT_THROW(kernels::sum_fp8_slots(slots, scales, memory.dense(DataType::bf16, 2, 8)), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
