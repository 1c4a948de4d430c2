// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/activation/activation.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kTokens = 7, kWidth = 37;

double silu(double z) { return z / (1 + std::exp(-z)); }

Matrix swiglu(const Matrix& x) {
  const std::int64_t width = x.cols / 2;
  return matrix_of(x.rows, width, [&](std::int64_t t, std::int64_t f) { return silu(x(t, f)) * x(t, width + f); });
}

Matrix gelu(Matrix x) {
  const double root = std::sqrt(2 / std::acos(-1.0));
  for (double& value : x.values) {
    value = 0.5 * value * (1 + std::tanh(root * (value + 0.044715 * value * value * value)));
  }
  return x;
}

Matrix squared_relu(Matrix x) {
  for (double& value : x.values) value = value > 0 ? value * value : 0;
  return x;
}

struct ActivationCase {
  const char* name;
  Operation (*forward)(const View&, const View&, const View&);
  Operation (*backward)(const View&, const View&, const View&, const View&);
  Matrix (*reference)(Matrix);
  std::int64_t width;  ///< columns of x for each of out
};

class Activation : public testing::TestWithParam<ActivationCase> {
 protected:
  const ActivationCase& c = GetParam();
  Memory memory;
  View x = memory.randomize(memory.columns(DataType::bf16, kTokens, kWidth* c.width, 90, 3), 2);
};

TEST_P(Activation, ForwardAgreesWithTheReference) {
  const View out = memory.columns(DataType::bf16, kTokens, kWidth, 41, 2);
  run_operation(memory, c.forward(x, out, {}));
  expect_close(memory.get(out), c.reference(memory.get(x)), kBf16Rounded);
}

TEST_P(Activation, BackwardAgreesWithFiniteDifferences) {
  const View dout = memory.randomize(memory.columns(DataType::bf16, kTokens, kWidth, 40, 1));
  const View dx = memory.columns(DataType::bf16, kTokens, kWidth * c.width, 77, 3);
  run_operation(memory, c.backward(x, dout, dx, {}));
  const Matrix weights = memory.get(dout);
  const Matrix gradient =
      finite_differences(memory.get(x), [&](const Matrix& at) { return inner_product(c.reference(at), weights); });
  expect_close(memory.get(dx), gradient, kBf16Rounded);
}

TEST_P(Activation, WithABiasIsThatOfTheSum) {
  for (const std::int64_t width : {kWidth, std::int64_t{40}}) {
    const View in = memory.randomize(memory.columns(DataType::bf16, kTokens, width * c.width, 96, 8), 2);
    const View bias = memory.random(DataType::bf16, 1, width * c.width);
    const Matrix sum = plus_row(memory.get(in), memory.get(bias));
    const View out = memory.dense(DataType::bf16, kTokens, width);
    const View dout = memory.random(DataType::bf16, kTokens, width);
    const View dx = memory.dense(DataType::bf16, kTokens, width * c.width);
    run_operation(memory, c.forward(in, out, bias));
    run_operation(memory, c.backward(in, dout, dx, bias));
    expect_close(memory.get(out), c.reference(sum), kBf16Rounded);
    const Matrix weights = memory.get(dout);
    expect_close(memory.get(dx),
                 finite_differences(sum, [&](const Matrix& at) { return inner_product(c.reference(at), weights); }),
                 kBf16Rounded);
    const Cost with = c.forward(in, out, bias).cost(), without = c.forward(in, out, {}).cost();
    EXPECT_EQ(with.bytes_read, without.bytes_read + bias.bytes());
    EXPECT_EQ(with.bytes_written, without.bytes_written);
    EXPECT_THROW(c.forward(in, out, dout), std::invalid_argument);
  }
}

TEST_P(Activation, FarFromZeroItStaysFinite) {
  const View far = memory.dense(DataType::bf16, 2, c.width);
  const std::vector<double> values{1000, -1000, -1000, 1000};
  memory.set(far, std::span(values).first(static_cast<std::size_t>(2 * c.width)));
  const View out = memory.dense(DataType::bf16, 2, 1), dout = memory.dense(DataType::bf16, 2, 1);
  const View dx = memory.dense(DataType::bf16, 2, c.width);
  memory.set(dout, std::vector<double>{1, 1});
  run_operation(memory, c.forward(far, out, {}));
  run_operation(memory, c.backward(far, dout, dx, {}));
  expect_close(memory.get(out), c.reference(memory.get(far)), {.relative = 0.00393});
  for (const double value : memory.get(dx).values) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(Activation, RefusesAnInputOfAnotherWidth) {
  const View out = memory.dense(DataType::bf16, kTokens, kWidth + 1);
  EXPECT_THROW(c.forward(x, out, {}), std::invalid_argument);
  EXPECT_THROW(c.backward(x, out, x, {}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Activation,
                         testing::Values(ActivationCase{"swiglu", kernels::swiglu_forward, kernels::swiglu_backward,
                                                        [](Matrix x) { return swiglu(x); }, 2},
                                         ActivationCase{"gelu", kernels::gelu_forward, kernels::gelu_backward, gelu, 1},
                                         ActivationCase{"squared_relu", kernels::squared_relu_forward,
                                                        kernels::squared_relu_backward, squared_relu, 1}),
                         CaseName());

}  // namespace
}  // namespace underlap::test
