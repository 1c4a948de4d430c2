// SPDX-License-Identifier: Apache-2.0
#include "kernels/adam/adam.hpp"

#include <limits>
#include <stdexcept>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

using kernels::AdamParameters;
using kernels::AdamTensors;

constexpr std::int64_t kElements = 37;
constexpr AdamParameters kParameters{
    .lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 3};
constexpr double kFactor = 0.5;

struct State {
  double main, m, v;
};

State step(State s, double grad, const AdamParameters& p) {
  s.m = p.beta1 * s.m + (1 - p.beta1) * grad;
  s.v = p.beta2 * s.v + (1 - p.beta2) * grad * grad;
  const double n = static_cast<double>(p.step);
  const double mean = s.m / (1 - std::pow(p.beta1, n)), square = s.v / (1 - std::pow(p.beta2, n));
  s.main -= p.lr * (mean / (std::sqrt(square) + p.eps) + p.weight_decay * s.main);
  return s;
}

class Adam : public testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    memory.set(t.grad_factor, std::vector<double>{kFactor});
    for (const View& view : {t.grad, t.main, t.m}) memory.randomize(view);
    std::vector<double> squares = memory.get(memory.randomize(t.v)).values;
    for (double& value : squares) value *= value;
    memory.set(t.v, squares);
  }

  /// Elements [first, first + n) of every tensor.
  AdamTensors slice(std::int64_t first, std::int64_t n) const {
    AdamTensors part = t;
    for (View* view : {&part.grad, &part.main, &part.m, &part.v, &part.param}) {
      *view = flat(view->tensor, first, n);
    }
    return part;
  }

  Memory memory;
  AdamTensors t{.grad = memory.dense(GetParam(), 1, kElements),
                .grad_factor = memory.dense(DataType::f32, 1, 1),
                .main = memory.dense(DataType::f32, 1, kElements),
                .m = memory.dense(DataType::f32, 1, kElements),
                .v = memory.dense(DataType::f32, 1, kElements),
                .param = memory.dense(DataType::bf16, 1, kElements),
                .nonfinite = memory.dense(DataType::i32, 1, 1)};
};

TEST_P(Adam, StepsAsTheReferenceDoes) {
  const Matrix grad = memory.get(t.grad);
  Matrix main = memory.get(t.main), m = memory.get(t.m), v = memory.get(t.v);
  for (std::int64_t i = 0; i < kElements; ++i) {
    const State s = step({main(0, i), m(0, i), v(0, i)}, grad(0, i) * kFactor, kParameters);
    main(0, i) = s.main, m(0, i) = s.m, v(0, i) = s.v;
  }
  run_operation(memory, kernels::adam(t, kParameters));
  expect_close(memory.get(t.main), main, kFp32);
  expect_close(memory.get(t.m), m, kFp32);
  expect_close(memory.get(t.v), v, kFp32);
  expect_close(memory.get(t.param), main, kBf16Rounded);
  EXPECT_EQ(memory.get(t.nonfinite)(0, 0), 0);
}

TEST_P(Adam, NonFiniteGradientRaisesTheFlagAndLeavesItsElement) {
  Matrix grad = memory.get(t.grad);
  grad(0, 4) = std::numeric_limits<double>::quiet_NaN();
  grad(0, 36) = -std::numeric_limits<double>::infinity();
  memory.set(t.grad, grad.values);
  const Matrix main = memory.get(t.main), m = memory.get(t.m), v = memory.get(t.v);
  run_operation(memory, kernels::adam(t, kParameters));
  EXPECT_EQ(memory.get(t.nonfinite)(0, 0), 1);
  for (const std::int64_t i : {4, 36}) {
    EXPECT_EQ(memory.get(t.main)(0, i), main(0, i));
    EXPECT_EQ(memory.get(t.m)(0, i), m(0, i));
    EXPECT_EQ(memory.get(t.v)(0, i), v(0, i));
    EXPECT_NEAR(memory.get(t.param)(0, i), main(0, i), 0.004 * std::abs(main(0, i)));
  }
  EXPECT_NE(memory.get(t.main)(0, 5), main(0, 5));
}

TEST_P(Adam, KeepsAFlagThatWasRaisedBefore) {
  memory.set(t.nonfinite, std::vector<double>{1});
  run_operation(memory, kernels::adam(t, kParameters));
  EXPECT_EQ(memory.get(t.nonfinite)(0, 0), 1);
}

TEST_P(Adam, ShardsEqualTheSlicesOfTheWhole) {
  Memory whole = memory;
  run_operation(whole, kernels::adam(t, kParameters));
  run_operation(memory, kernels::adam(slice(0, 5), kParameters));
  run_operation(memory, kernels::adam(slice(5, kElements - 5), kParameters));
  for (const View& view : {t.main, t.m, t.v, t.param}) {
    EXPECT_EQ(whole.get(view).values, memory.get(view).values);
  }
}

TEST_P(Adam, RefusesStepZeroAndABetaOfOne) {
  EXPECT_THROW(kernels::adam(t, {.step = 0}), std::invalid_argument);
  EXPECT_THROW(kernels::adam(t, {.beta2 = 1}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Gradient, Adam, testing::Values(DataType::f32, DataType::bf16),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

}  // namespace
}  // namespace underlap::test
