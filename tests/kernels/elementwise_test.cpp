// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise.hpp"

#include <limits>
#include <stdexcept>

#include "kernels/cast/cast.hpp"
#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kElementwiseRows = 7, kElementwiseCols = 37;

TEST(Cast, ToBf16RoundsEveryElementAsBf16Does) {
  Memory memory;
  const View x = memory.randomize(memory.columns(DataType::f32, kElementwiseRows, kElementwiseCols, 43, 3));
  const View out = memory.columns(DataType::bf16, kElementwiseRows, kElementwiseCols, 41, 2);
  Matrix expected = memory.get(x);
  expected(0, 0) = std::numeric_limits<double>::infinity();
  memory.set(x, expected.values);
  for (double& value : expected.values) value = static_cast<float>(bf16(static_cast<float>(value)));
  run_operation(memory, kernels::cast(x, out));
  EXPECT_EQ(memory.get(out).values, expected.values);
}

TEST(Cast, ToF32IsExact) {
  Memory memory;
  const View x = memory.random(DataType::bf16, kElementwiseRows, kElementwiseCols);
  const View out = memory.dense(DataType::f32, kElementwiseRows, kElementwiseCols);
  run_operation(memory, kernels::cast(x, out));
  EXPECT_EQ(memory.get(out).values, memory.get(x).values);
}

TEST(Cast, RefusesEqualTypes) {
  Memory memory;
  const View x = memory.dense(DataType::bf16, kElementwiseRows, kElementwiseCols);
  EXPECT_THROW(kernels::cast(x, memory.dense(DataType::bf16, kElementwiseRows, kElementwiseCols)),
               std::invalid_argument);
  EXPECT_THROW(kernels::cast(memory.dense(DataType::i32, kElementwiseRows, kElementwiseCols), x),
               std::invalid_argument);
}

TEST(ResidualAdd, AddsInFp32AndRoundsOnce) {
  Memory memory;
  const View a = memory.randomize(memory.columns(DataType::bf16, kElementwiseRows, kElementwiseCols, 40, 1));
  const View b = memory.random(DataType::bf16, kElementwiseRows, kElementwiseCols, 100);
  const View out = memory.columns(DataType::bf16, kElementwiseRows, kElementwiseCols, 39, 2);
  run_operation(memory, kernels::residual_add(a, b, out));
  expect_close(memory.get(out), plus(memory.get(a), memory.get(b)), kBf16Rounded);
}

TEST(Accumulate, AddsInFp32AndRoundsOnce) {
  Memory memory;
  const View x = memory.randomize(memory.columns(DataType::bf16, kElementwiseRows, kElementwiseCols, 40, 1));
  const View sum = memory.randomize(memory.columns(DataType::bf16, kElementwiseRows, kElementwiseCols, 39, 2), 100);
  const Matrix expected = plus(memory.get(x), memory.get(sum));
  run_operation(memory, kernels::accumulate(x, sum));
  expect_close(memory.get(sum), expected, kBf16Rounded);
}

TEST(ResidualAdd, IsLimitedByItsBytes) {
  Memory memory;
  const View x = memory.dense(DataType::bf16, kElementwiseRows, kElementwiseCols);
  EXPECT_EQ(kernels::residual_add(x, x, memory.dense(DataType::bf16, kElementwiseRows, kElementwiseCols)).cost().work,
            Work::memory);
}

TEST(Scale, MultipliesInPlaceInBothTypes) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    Memory memory;
    const View x = memory.randomize(memory.columns(dtype, kElementwiseRows, kElementwiseCols, 38, 1));
    const Matrix expected = times(memory.get(x), 0.3);
    run_operation(memory, kernels::scale(x, 0.3));
    expect_close(memory.get(x), expected, dtype == DataType::f32 ? kFp32 : kBf16Rounded);
  }
}

TEST(Scale, RefusesIntegers) {
  Memory memory;
  EXPECT_THROW(kernels::scale(memory.dense(DataType::i32, 1, 4), 2), std::invalid_argument);
}

class Fill : public testing::TestWithParam<DataType> {};

TEST_P(Fill, WritesTheValueInTheViewsType) {
  Memory memory;
  const View x = memory.columns(GetParam(), 3, 5, 8, 2);
  run_operation(memory, kernels::fill(x, 7));
  EXPECT_EQ(memory.get(x).values, std::vector<double>(15, 7.0));
}

INSTANTIATE_TEST_SUITE_P(Types, Fill,
                         testing::Values(DataType::f32, DataType::bf16, DataType::i32, DataType::u8, DataType::f64,
                                         DataType::f8e4m3, DataType::f8e5m2),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

}  // namespace
}  // namespace underlap::test
