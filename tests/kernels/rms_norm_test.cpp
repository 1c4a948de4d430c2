// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/rms_norm/rms_norm.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kNormTokens = 7, kNormHidden = 24;
constexpr double kEpsilon = 1e-2;

Matrix reciprocal_rms(const Matrix& x) {
  Matrix rstd(1, x.rows);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    double sum = 0;
    for (std::int64_t h = 0; h < x.cols; ++h) sum += x(t, h) * x(t, h);
    rstd(0, t) = 1 / std::sqrt(sum / static_cast<double>(x.cols) + kEpsilon);
  }
  return rstd;
}

Matrix normalized(const Matrix& x, const Matrix& weight) {
  const Matrix rstd = reciprocal_rms(x);
  return matrix_of(x.rows, x.cols, [&](std::int64_t t, std::int64_t h) { return x(t, h) * rstd(0, t) * weight(0, h); });
}

struct RmsNorm : testing::Test {
  Memory memory;
  // Odd strides: an activation may be part of a wider one.
  View x = memory.randomize(memory.columns(DataType::bf16, kNormTokens, kNormHidden, 29, 2), 0.5);
  View weight = memory.random(DataType::bf16, 1, kNormHidden);
  View dout = memory.randomize(memory.columns(DataType::bf16, kNormTokens, kNormHidden, 27, 3));
  View rstd = memory.dense(DataType::f32, 1, kNormTokens);
  View out = memory.dense(DataType::bf16, kNormTokens, kNormHidden);

  void SetUp() override { run_operation(memory, kernels::rms_norm_forward(x, weight, out, rstd, kEpsilon)); }
};

TEST_F(RmsNorm, ForwardScalesRowsToUnitRootMeanSquare) {
  expect_close(memory.get(out), normalized(memory.get(x), memory.get(weight)), kBf16Rounded);
  expect_close(memory.get(rstd), reciprocal_rms(memory.get(x)), kFp32);
}

TEST_F(RmsNorm, DgradIsResidualPlusTheDerivative) {
  const View residual = memory.randomize(memory.columns(DataType::bf16, kNormTokens, kNormHidden, 30, 1));
  const View dx = memory.columns(DataType::bf16, kNormTokens, kNormHidden, 31, 4);
  run_operation(memory, kernels::rms_norm_dgrad(
                            {.x = x, .weight = weight, .rstd = rstd, .dout = dout, .residual = residual, .dx = dx}));
  const Matrix w = memory.get(weight), d = memory.get(dout);
  const Matrix gradient =
      finite_differences(memory.get(x), [&](const Matrix& at) { return inner_product(normalized(at, w), d); });
  expect_close(memory.get(dx), plus(gradient, memory.get(residual)), kBf16Rounded);
}

TEST_F(RmsNorm, WgradAddsToTheMainGradientInBothTypes) {
  const Matrix from = memory.get(x), d = memory.get(dout);
  const Matrix gradient =
      finite_differences(memory.get(weight), [&](const Matrix& at) { return inner_product(normalized(from, at), d); });
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const View dweight = memory.random(dtype, 1, kNormHidden);
    const Matrix expected = plus(gradient, memory.get(dweight));
    run_operation(memory, kernels::rms_norm_wgrad(x, rstd, dout, dweight));
    expect_close(memory.get(dweight), expected, dtype == DataType::f32 ? kFp32 : kBf16Rounded);
  }
}

TEST_F(RmsNorm, CostsAreThoseOfPersistentNorms) {
  const View dweight = memory.dense(DataType::f32, 1, kNormHidden),
             dx = memory.dense(DataType::bf16, kNormTokens, kNormHidden);
  EXPECT_EQ(kernels::rms_norm_forward(x, weight, out, rstd, kEpsilon).cost().work, Work::norm);
  EXPECT_EQ(kernels::rms_norm_wgrad(x, rstd, dout, dweight).cost().work, Work::norm);
  const kernels::RmsNormDgrad dgrad{.x = x, .weight = weight, .rstd = rstd, .dout = dout, .residual = dout, .dx = dx};
  EXPECT_EQ(kernels::rms_norm_dgrad(dgrad).cost().work, Work::norm);
}

TEST_F(RmsNorm, RefusesAWeightOfAnotherWidthAndANegativeEpsilon) {
  const View narrow = memory.dense(DataType::bf16, 1, kNormHidden - 1);
  EXPECT_THROW(kernels::rms_norm_forward(x, narrow, out, rstd, kEpsilon), std::invalid_argument);
  EXPECT_THROW(kernels::rms_norm_forward(x, weight, out, rstd, -1), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
