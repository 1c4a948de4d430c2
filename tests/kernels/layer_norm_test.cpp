// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <utility>

#include "kernels/layer_norm/layer_norm.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kLayerNormTokens = 7, kLayerNormHidden = 24;
constexpr double kLayerNormEpsilon = 1e-2;

/// Means and reciprocal deviations of the rows of x.
std::pair<Matrix, Matrix> statistics_of(const Matrix& x) {
  Matrix mean(1, x.rows), rstd(1, x.rows);
  const auto cols = static_cast<double>(x.cols);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    double squares = 0;
    for (std::int64_t h = 0; h < x.cols; ++h) mean(0, t) += x(t, h) / cols;
    for (std::int64_t h = 0; h < x.cols; ++h) squares += (x(t, h) - mean(0, t)) * (x(t, h) - mean(0, t));
    rstd(0, t) = 1 / std::sqrt(squares / cols + kLayerNormEpsilon);
  }
  return {mean, rstd};
}

Matrix layer_normalized(const Matrix& x, const Matrix& weight, const Matrix& bias) {
  const auto [mean, rstd] = statistics_of(x);
  return matrix_of(x.rows, x.cols, [&, &mean = mean, &rstd = rstd](std::int64_t t, std::int64_t h) {
    return (x(t, h) - mean(0, t)) * rstd(0, t) * weight(0, h) + bias(0, h);
  });
}

struct LayerNorm : testing::Test {
  Memory memory;
  // Odd strides, as of an activation that is part of a wider one, and a mean far from 0.
  View x = memory.columns(DataType::bf16, kLayerNormTokens, kLayerNormHidden, 29, 2);
  View weight = memory.random(DataType::bf16, 1, kLayerNormHidden);
  View bias = memory.random(DataType::bf16, 1, kLayerNormHidden);
  View dout = memory.randomize(memory.columns(DataType::bf16, kLayerNormTokens, kLayerNormHidden, 27, 3));
  View mean = memory.dense(DataType::f32, 1, kLayerNormTokens), rstd = memory.dense(DataType::f32, 1, kLayerNormTokens);
  View out = memory.dense(DataType::bf16, kLayerNormTokens, kLayerNormHidden);

  void SetUp() override {
    Matrix values = memory.get(memory.randomize(x, 0.5));
    for (double& value : values.values) value += 3;
    memory.set(x, values.values);
    run_operation(memory, kernels::layer_norm_forward(
                              {.x = x, .weight = weight, .bias = bias, .out = out, .mean = mean, .rstd = rstd},
                              kLayerNormEpsilon));
  }
};

TEST_F(LayerNorm, ForwardShiftsAndScalesRows) {
  const auto [means, rstds] = statistics_of(memory.get(x));
  expect_close(memory.get(mean), means, kFp32);
  expect_close(memory.get(rstd), rstds, kFp32);
  expect_close(memory.get(out), layer_normalized(memory.get(x), memory.get(weight), memory.get(bias)), kBf16Rounded);
}

TEST_F(LayerNorm, DgradIsResidualPlusTheDerivative) {
  const View residual = memory.randomize(memory.columns(DataType::bf16, kLayerNormTokens, kLayerNormHidden, 30, 1));
  const View dx = memory.columns(DataType::bf16, kLayerNormTokens, kLayerNormHidden, 31, 4);
  run_operation(
      memory,
      kernels::layer_norm_dgrad(
          {.x = x, .weight = weight, .mean = mean, .rstd = rstd, .dout = dout, .residual = residual, .dx = dx}));
  const Matrix w = memory.get(weight), b = memory.get(bias), d = memory.get(dout);
  const Matrix gradient =
      finite_differences(memory.get(x), [&](const Matrix& at) { return inner_product(layer_normalized(at, w, b), d); });
  expect_close(memory.get(dx), plus(gradient, memory.get(residual)), kBf16Rounded);
}

TEST_F(LayerNorm, WgradAddsToBothMainGradientsInBothTypes) {
  const Matrix from = memory.get(x), w = memory.get(weight), b = memory.get(bias), d = memory.get(dout);
  const Matrix of_weight =
      finite_differences(w, [&](const Matrix& at) { return inner_product(layer_normalized(from, at, b), d); });
  const Matrix of_bias =
      finite_differences(b, [&](const Matrix& at) { return inner_product(layer_normalized(from, w, at), d); });
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const View dweight = memory.random(dtype, 1, kLayerNormHidden);
    const View dbias = memory.random(dtype, 1, kLayerNormHidden);
    const Matrix expected = plus(of_weight, memory.get(dweight)), expected_bias = plus(of_bias, memory.get(dbias));
    run_operation(memory, kernels::layer_norm_wgrad(
                              {.x = x, .mean = mean, .rstd = rstd, .dout = dout, .dweight = dweight, .dbias = dbias}));
    const Tolerance& tolerance = dtype == DataType::f32 ? kFp32 : kBf16Rounded;
    expect_close(memory.get(dweight), expected, tolerance);
    expect_close(memory.get(dbias), expected_bias, tolerance);
  }
}

TEST_F(LayerNorm, CostsAreThoseOfPersistentNorms) {
  const View gradient = memory.dense(DataType::f32, 1, kLayerNormHidden),
             other = memory.dense(DataType::f32, 1, kLayerNormHidden);
  const View dx = memory.dense(DataType::bf16, kLayerNormTokens, kLayerNormHidden);
  const Cost forward =
      kernels::layer_norm_forward({.x = x, .weight = weight, .bias = bias, .out = out, .mean = mean, .rstd = rstd}, 0)
          .cost();
  EXPECT_EQ(forward.work, Work::norm);
  EXPECT_EQ(forward.bytes_read, x.bytes() + 2 * weight.bytes());
  EXPECT_EQ(forward.bytes_written, out.bytes() + 2 * rstd.bytes());
  const kernels::LayerNormDgrad dgrad{
      .x = x, .weight = weight, .mean = mean, .rstd = rstd, .dout = dout, .residual = dout, .dx = dx};
  EXPECT_EQ(kernels::layer_norm_dgrad(dgrad).cost().work, Work::norm);
  const kernels::LayerNormWgrad wgrad{
      .x = x, .mean = mean, .rstd = rstd, .dout = dout, .dweight = gradient, .dbias = other};
  EXPECT_EQ(kernels::layer_norm_wgrad(wgrad).cost().work, Work::norm);
}

TEST_F(LayerNorm, RefusesABiasOfAnotherWidthAndANegativeEpsilon) {
  kernels::LayerNormForward t{.x = x, .weight = weight, .bias = bias, .out = out, .mean = mean, .rstd = rstd};
  EXPECT_THROW(kernels::layer_norm_forward(t, -1), std::invalid_argument);
  t.bias = memory.dense(DataType::bf16, 1, kLayerNormHidden - 1);
  EXPECT_THROW(kernels::layer_norm_forward(t, 0), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
