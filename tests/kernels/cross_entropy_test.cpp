// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kTokens = 7, kVocabulary = 37;
constexpr double kScale = 0.125;

Matrix log_sum_exp(const Matrix& logits) {
  Matrix lse(1, logits.rows);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    double sum = 0;
    for (std::int64_t v = 0; v < logits.cols; ++v) sum += std::exp(logits(t, v));
    lse(0, t) = std::log(sum);
  }
  return lse;
}

double loss_of(const Matrix& logits, const Matrix& targets) {
  const Matrix lse = log_sum_exp(logits);
  double sum = 0;
  for (std::int64_t t = 0; t < logits.rows; ++t) sum += lse(0, t) - logits(t, static_cast<std::int64_t>(targets(0, t)));
  return kScale * sum;
}

struct CrossEntropy : testing::Test {
  Memory memory;
  View logits = memory.randomize(memory.columns(DataType::bf16, kTokens, kVocabulary, 48, 5), 3);
  View targets = memory.set(memory.dense(DataType::i32, 1, kTokens), std::vector<double>{0, 36, 5, 5, 17, 1, 20});
  View lse = memory.dense(DataType::f32, 1, kTokens);
  View loss = memory.set(memory.dense(DataType::f32, 1, 1), std::vector<double>{2});

  Operation forward() const { return kernels::cross_entropy_forward(logits, targets, lse, loss, kScale); }
};

TEST_F(CrossEntropy, ForwardAddsTheScaledSumToTheLoss) {
  run_operation(memory, forward());
  EXPECT_NEAR(memory.get(loss)(0, 0), 2 + loss_of(memory.get(logits), memory.get(targets)), 1e-5);
  expect_close(memory.get(lse), log_sum_exp(memory.get(logits)), kFp32);
}

TEST_F(CrossEntropy, BackwardAgreesWithFiniteDifferences) {
  const View dlogits = memory.columns(DataType::bf16, kTokens, kVocabulary, 39, 1);
  run_operation(memory, forward());
  run_operation(memory, kernels::cross_entropy_backward(logits, targets, lse, dlogits, kScale));
  const Matrix t = memory.get(targets);
  const Matrix gradient = finite_differences(memory.get(logits), [&](const Matrix& at) { return loss_of(at, t); });
  expect_close(memory.get(dlogits), gradient, kBf16Rounded);
}

TEST_F(CrossEntropy, LargeLogitsDoNotOverflow) {
  memory.set(logits, std::vector<double>(kTokens * kVocabulary, 2000));
  run_operation(memory, forward());
  EXPECT_NEAR(memory.get(loss)(0, 0), 2 + kScale * kTokens * std::log(kVocabulary), 1e-3);
}

TEST_F(CrossEntropy, RefusesTargetsOutsideTheVocabulary) {
  const View dlogits = memory.dense(DataType::bf16, kTokens, kVocabulary);
  const Operation backward = kernels::cross_entropy_backward(logits, targets, lse, dlogits, kScale);
  for (const double target : {37.0, -1.0}) {
    memory.set(targets, std::vector<double>{0, 0, 0, target, 0, 0, 0});
    EXPECT_THROW(run_once(memory, forward()), std::invalid_argument);
    EXPECT_THROW(run_once(memory, backward), std::invalid_argument);
  }
}

}  // namespace
}  // namespace underlap::test
