// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose/transpose.hpp"

#include <stdexcept>
#include <tuple>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

struct TransposeShape {
  const char* name;
  std::int64_t rows, cols;
  std::int64_t gap;  ///< elements between rows
  Placement placement;
};

class Transpose : public testing::TestWithParam<std::tuple<DataType, TransposeShape>> {};

TEST_P(Transpose, PutsEveryElementAtItsMirrorsPlace) {
  const auto& [dtype, shape] = GetParam();
  Memory memory;
  const View x = memory.columns(dtype, shape.rows, shape.cols, shape.cols + shape.gap, shape.gap / 2);
  const View out = memory.columns(dtype, shape.cols, shape.rows, shape.rows + shape.gap, shape.gap / 2);
  // Whole numbers, exact in every type, whose pattern has no period that a square's side divides.
  memory.set(x, [](std::int64_t i) { return i * i / 7 % 13; });
  run_operation(memory, kernels::transpose(x, out), shape.placement);
  const Matrix from = memory.get(x), to = memory.get(out);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.cols; ++c) ASSERT_EQ(to(c, r), from(r, c)) << r << ", " << c;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Transpose,
    testing::Combine(testing::Values(DataType::f8e4m3, DataType::f8e5m2, DataType::bf16),
                     testing::Values(TransposeShape{"whole_squares", 256, 128, 0, Placement::aligned},
                                     TransposeShape{"strided", 144, 80, 32, Placement::aligned},
                                     TransposeShape{"ragged_rows", 133, 160, 0, Placement::aligned},
                                     TransposeShape{"odd", 67, 131, 5, Placement::odd},
                                     TransposeShape{"one_row", 1, 40, 0, Placement::odd})),
    [](const auto& parameter) {
      return std::string(to_string(std::get<0>(parameter.param))) + "_" + std::get<1>(parameter.param).name;
    });

TEST(TransposeShapes, WideElementsAreRefused) {
  Memory memory;
  EXPECT_THROW(kernels::transpose(memory.dense(DataType::f32, 2, 3), memory.dense(DataType::f32, 3, 2)),
               std::invalid_argument);
  EXPECT_THROW(kernels::transpose(memory.dense(DataType::bf16, 2, 3), memory.dense(DataType::bf16, 2, 3)),
               std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
