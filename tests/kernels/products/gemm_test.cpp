// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.hpp"

#include <stdexcept>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

using kernels::gemm_dgrad;
using kernels::gemm_fprop;
using kernels::gemm_wgrad;

constexpr std::int64_t kM = 7, kN = 37, kK = 24;

double at(const Matrix& m, bool transposed, std::int64_t r, std::int64_t c) { return transposed ? m(c, r) : m(r, c); }

Matrix product(const Matrix& a, bool transpose_a, const Matrix& b, bool transpose_b) {
  const std::int64_t inner = transpose_a ? a.rows : a.cols;
  Matrix c(transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.cols; ++j) {
      for (std::int64_t l = 0; l < inner; ++l) c(i, j) += at(a, transpose_a, i, l) * at(b, transpose_b, l, j);
    }
  }
  return c;
}

/// The operands of a layer: x of M tokens and K features, weights for N, and what they make.
struct Gemm : testing::Test {
  Memory memory;
  View x = memory.random(DataType::bf16, kM, kK), w = memory.random(DataType::bf16, kN, kK);
  View y = memory.dense(DataType::bf16, kM, kN), dw = memory.dense(DataType::f32, kN, kK);
};

TEST_F(Gemm, FpropMultipliesByTheTransposedWeightAndDgradByTheWeight) {
  run_operation(memory, gemm_fprop(x, w, y));
  expect_close(memory.get(y), product(memory.get(x), false, memory.get(w), true), kBf16Rounded);
  const View dy = memory.random(DataType::bf16, kM, kN), dx = memory.dense(DataType::bf16, kM, kK);
  run_operation(memory, gemm_dgrad(dy, w, dx));
  expect_close(memory.get(dx), product(memory.get(dy), false, memory.get(w), false), kBf16Rounded);
}

TEST_F(Gemm, FpropAddsABiasBeforeItRounds) {
  const View bias = memory.random(DataType::bf16, 1, kN, 10);
  run_operation(memory, gemm_fprop(x, w, y, 0, bias));
  const Matrix expected = plus_row(product(memory.get(x), false, memory.get(w), true), memory.get(bias));
  expect_close(memory.get(y), expected, kBf16Rounded);
  EXPECT_EQ(gemm_fprop(x, w, y, 0, bias).cost().bytes_read, gemm_fprop(x, w, y).cost().bytes_read + bias.bytes());
  EXPECT_THROW(gemm_fprop(x, w, y, 0, x), std::invalid_argument);
}

TEST_F(Gemm, WgradAddsToTheMainGradientAndRoundsOnce) {
  const View dy = memory.random(DataType::bf16, kM, kN);
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const View gradient = memory.random(dtype, kN, kK);
    const Matrix expected = plus(product(memory.get(dy), true, memory.get(x), false), memory.get(gradient));
    run_operation(memory, gemm_wgrad(dy, x, gradient));
    expect_close(memory.get(gradient), expected, dtype == DataType::f32 ? kFp32 : kBf16Rounded);
  }
}

TEST_F(Gemm, ReadsAndWritesColumnsOfWiderTensors) {
  x = memory.randomize(memory.columns(DataType::bf16, kM, kK, 50, 3));
  w = memory.randomize(memory.columns(DataType::bf16, kN, kK, 25, 1));
  y = memory.columns(DataType::bf16, kM, kN, 64, 20);
  run_operation(memory, gemm_fprop(x, w, y));
  expect_close(memory.get(y), product(memory.get(x), false, memory.get(w), true), kBf16Rounded);
  dw = memory.columns(DataType::f32, kN, kK, 31, 5);
  run_operation(memory, gemm_wgrad(y, x, dw));
  expect_close(memory.get(dw), product(memory.get(y), true, memory.get(x), false), kFp32);
}

struct CallCase {
  bool transpose_a, transpose_b, accumulate;
  DataType c;
};

class GemmCallOf : public testing::TestWithParam<CallCase> {};

TEST_P(GemmCallOf, AgreesWithTheReference) {
  const CallCase& p = GetParam();
  Memory memory;
  const View a = memory.randomize(p.transpose_a ? memory.columns(DataType::bf16, kK, kM, 11, 2)
                                                : memory.columns(DataType::bf16, kM, kK, 30, 2));
  const View b = memory.randomize(p.transpose_b ? memory.columns(DataType::bf16, kN, kK, 31, 4)
                                                : memory.columns(DataType::bf16, kK, kN, 41, 1));
  const View c = memory.randomize(memory.columns(p.c, kM, kN, 40, 3));
  Matrix expected = product(memory.get(a), p.transpose_a, memory.get(b), p.transpose_b);
  if (p.accumulate) expected = plus(expected, memory.get(c));
  kernels::run_gemm({.a = bind(memory, a),
                     .b = bind(memory, b),
                     .c = bind(memory, c),
                     .transpose_a = p.transpose_a,
                     .transpose_b = p.transpose_b,
                     .accumulate = p.accumulate});
  expect_close(memory.get(c), expected, p.c == DataType::f32 ? kFp32 : kBf16Rounded);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmCallOf,
                         testing::Values(CallCase{false, true, false, DataType::bf16},
                                         CallCase{false, false, false, DataType::bf16},
                                         CallCase{true, false, true, DataType::f32},
                                         CallCase{true, false, true, DataType::bf16},
                                         CallCase{true, true, false, DataType::f32}));

// A technique that cuts a product by rows moves no bit of it.
TEST(Fp8GemmCall, GivesARowTheSameSumsWhateverRowsAreMultipliedWithIt) {
  constexpr std::int64_t kRows = 64, kPart = 8, kInner = 512;
  Memory memory;
  // So far apart that fp32 rounds their sums.
  const View a = memory.set(memory.dense(DataType::f8e5m2, kRows, kInner),
                            [](std::int64_t i) { return std::ldexp(1 + 0.25 * (i % 3), i * 7 % 31 - 15); });
  const View b = memory.random(DataType::f8e4m3, kRows, kInner);
  const View whole = memory.dense(DataType::f32, kRows, kRows), parts = memory.dense(DataType::f32, kRows, kRows);
  const float one = 1;
  const auto multiply = [&](const View& rows, const View& out) {
    kernels::run_gemm({.a = bind(memory, rows),
                       .b = bind(memory, b),
                       .c = bind(memory, out),
                       .a_inverse_scale = &one,
                       .b_inverse_scale = &one,
                       .transpose_b = true});
  };
  multiply(a, whole);
  for (std::int64_t row = 0; row < kRows; row += kPart)
    multiply(matrix(a.tensor, kPart, kInner, row * kInner), matrix(parts.tensor, kPart, kRows, row * kRows));
  EXPECT_EQ(memory.get(parts).values, memory.get(whole).values);
}

// Nor does one that cuts it by columns, nor both, in odd places.
TEST(GemmCall, GivesAnElementTheSameSumWhateverIsMultipliedWithIt) {
  constexpr std::int64_t kRows = 131, kCols = 157, kInner = 1111;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      Memory memory;
      const auto operand = [&](std::int64_t outer, std::int64_t inner, bool transposed) {
        return memory.random(DataType::bf16, transposed ? inner : outer, transposed ? outer : inner);
      };
      const View a = operand(kRows, kInner, transpose_a), b = operand(kInner, kCols, transpose_b);
      const View whole = memory.dense(DataType::f32, kRows, kCols);
      const auto part = [](const View& view, bool transposed, std::int64_t row, std::int64_t rows, std::int64_t col,
                           std::int64_t cols) {
        if (transposed) std::swap(row, col), std::swap(rows, cols);
        return View{view.tensor, view.offset + row * view.leading_dimension + col, rows, cols, view.leading_dimension};
      };
      const auto multiply = [&](std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
                                const View& out) {
        kernels::run_gemm({.a = bind(memory, part(a, transpose_a, row, rows, 0, kInner)),
                           .b = bind(memory, part(b, transpose_b, 0, kInner, col, cols)),
                           .c = bind(memory, out),
                           .transpose_a = transpose_a,
                           .transpose_b = transpose_b});
        return memory.get(out).values;
      };
      const auto expected = multiply(0, kRows, 0, kCols, whole);
      for (const auto& [row, rows, col, cols] :
           {std::array<std::int64_t, 4>{0, 1, 0, kCols}, {5, 64, 0, kCols}, {0, kRows, 40, 8}, {77, 54, 101, 56}}) {
        const auto found = multiply(row, rows, col, cols, memory.dense(DataType::f32, rows, cols));
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < cols; ++c)
            ASSERT_EQ(found[static_cast<std::size_t>(r * cols + c)],
                      expected[static_cast<std::size_t>((row + r) * kCols + col + c)])
                << "element " << row + r << ", " << col + c << " of " << rows << " x " << cols << " at " << row << ", "
                << col << (transpose_a ? ", a transposed" : "") << (transpose_b ? ", b transposed" : "");
      }
    }
}

TEST_F(Gemm, CostIsTwoFlopsForEachMultiplicationAndOnePassOverEachOperand) {
  using Extent = std::array<std::int64_t, 3>;
  const Cost fprop = gemm_fprop(x, w, y).cost(), dgrad = gemm_dgrad(y, w, x).cost(),
             wgrad = gemm_wgrad(y, x, dw).cost();
  for (const Cost& cost : {fprop, dgrad, wgrad}) {
    EXPECT_EQ(cost.work, Work::gemm);
    EXPECT_EQ(cost.flops, 2.0 * kM * kN * kK);
    EXPECT_EQ(cost.sm_margin, 0);
  }
  EXPECT_EQ(fprop.extent, (Extent{kM, kN, kK}));
  EXPECT_EQ(dgrad.extent, (Extent{kM, kK, kN}));
  EXPECT_EQ(wgrad.extent, (Extent{kN, kK, kM}));
  EXPECT_EQ(fprop.bytes_read, 2 * (kM * kK + kN * kK));
  EXPECT_EQ(fprop.bytes_written, 2 * kM * kN);
  EXPECT_EQ(wgrad.bytes_read, 2 * (kM * kN + kM * kK) + 4 * kN * kK);
  EXPECT_EQ(wgrad.bytes_written, 4 * kN * kK);
}

TEST_F(Gemm, CostCarriesTheMargin) {
  for (const Operation& gemm : {gemm_fprop(x, w, y, 16), gemm_dgrad(y, w, x, 16), gemm_wgrad(y, x, w, 16)})
    EXPECT_EQ(gemm.cost().sm_margin, 16);
  EXPECT_THROW(gemm_fprop(x, w, y, -1), std::invalid_argument);
  EXPECT_THROW(gemm_dgrad(y, w, x, -1), std::invalid_argument);
  EXPECT_THROW(gemm_wgrad(y, x, w, -1), std::invalid_argument);
}

TEST_F(Gemm, RefusesViewsThatDoNotFit) {
  const View wide = memory.dense(DataType::bf16, kN, kK + 1);
  EXPECT_THAT([&] { gemm_fprop(x, wide, y); },
              ThrowsMessage<std::invalid_argument>(
                  AllOf(HasSubstr("gemm_fprop: w is [37, 25] bf16"), HasSubstr("[37, 24] bf16"))));
  View leaves_its_tensor = w, overlaps_itself = w;
  leaves_its_tensor.offset = 1;
  overlaps_itself.leading_dimension = kK - 1;
  EXPECT_THROW(gemm_fprop(x, leaves_its_tensor, y), std::invalid_argument);
  EXPECT_THROW(gemm_fprop(x, overlaps_itself, y), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
