// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/copy/copy.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr DataType kTypes[] = {DataType::f32, DataType::bf16, DataType::i32, DataType::u8, DataType::f64};

/// The numbers from `first` on, which every type has.
std::vector<double> numbers(std::int64_t first, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(first + i));
  return values;
}

class CopyOf : public testing::TestWithParam<DataType> {
 protected:
  View counted(const View& view, std::int64_t first = 0) { return memory.set(view, numbers(first, view.elements())); }

  Memory memory;
};
INSTANTIATE_TEST_SUITE_P(Types, CopyOf, testing::ValuesIn(kTypes),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

TEST_P(CopyOf, StridedAndDenseViews) {
  const View strided = counted(memory.columns(GetParam(), 5, 37, 43, 3));
  const View dense = memory.dense(GetParam(), 5, 37), other = memory.columns(GetParam(), 5, 37, 40, 1);
  run_operation(memory, kernels::copy(strided, dense));
  EXPECT_EQ(memory.get(dense).values, numbers(0, 5 * 37));
  run_operation(memory, kernels::copy(dense, other));
  EXPECT_EQ(memory.get(other).values, numbers(0, 5 * 37));
}

TEST_P(CopyOf, AlignedViews) {
  const View x = counted(memory.columns(GetParam(), 3, 64, 80, 16)), out = memory.columns(GetParam(), 3, 64, 96, 32);
  run_operation(memory, kernels::copy(x, out), Placement::aligned);
  EXPECT_EQ(memory.get(out).values, numbers(0, 3 * 64));
}

TEST_P(CopyOf, PiecesAfterEachOther) {
  const View pieces[] = {counted(memory.dense(GetParam(), 1, 1)), counted(memory.columns(GetParam(), 3, 5, 7, 1), 1),
                         counted(memory.dense(GetParam(), 1, 48), 16), counted(memory.dense(GetParam(), 4, 16), 64)};
  const View out = memory.dense(GetParam(), 1, 128);
  run_operation(memory, kernels::concatenate(pieces, out));
  EXPECT_EQ(memory.get(out).values, numbers(0, 128));
  run_operation(memory, kernels::concatenate(std::span(pieces).subspan(2), flat(out.tensor, 16, 112)),
                Placement::aligned);
  EXPECT_EQ(memory.get(out).values, [] {
    std::vector<double> values = numbers(0, 128);
    const std::vector<double> moved = numbers(16, 112);
    std::ranges::copy(moved, values.begin() + 16);
    return values;
  }());
}

TEST(Concatenate, TakesAsManyPiecesAsAnOperationHasRoomFor) {
  Memory memory;
  std::vector<View> pieces;
  for (std::int64_t i = 0; i < 9; ++i) pieces.push_back(memory.set(memory.dense(DataType::bf16, 1, 1), numbers(i, 1)));
  const View out = memory.dense(DataType::bf16, 1, 9);
  run_operation(memory, kernels::concatenate(pieces, out));
  EXPECT_EQ(memory.get(out).values, numbers(0, 9));
  pieces.push_back(pieces.front());
  EXPECT_THROW(kernels::concatenate(pieces, memory.dense(DataType::bf16, 1, 10)), std::invalid_argument);
  EXPECT_THROW(kernels::concatenate({}, out), std::invalid_argument);
}

TEST(Concatenate, RefusesAnotherTypeAndAnotherSize) {
  Memory memory;
  const View pieces[] = {memory.dense(DataType::f32, 1, 4), memory.dense(DataType::f32, 2, 2)};
  EXPECT_THROW(kernels::concatenate(pieces, memory.dense(DataType::i32, 1, 8)), std::invalid_argument);
  EXPECT_THROW(kernels::concatenate(pieces, memory.dense(DataType::f32, 1, 9)), std::invalid_argument);
  EXPECT_THROW(kernels::concatenate(pieces, memory.dense(DataType::f32, 2, 4)), std::invalid_argument);
}

TEST(Copy, RefusesAnotherTypeAndAnotherShape) {
  Memory memory;
  const View x = memory.dense(DataType::f32, 3, 4);
  EXPECT_THROW(kernels::copy(x, memory.dense(DataType::i32, 3, 4)), std::invalid_argument);
  EXPECT_THROW(kernels::copy(x, memory.dense(DataType::f32, 4, 3)), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
