// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/cross_entropy/cross_entropy.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kTargets = 7, kLogits = 37;
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
  View logits = memory.randomize(memory.columns(DataType::bf16, kTargets, kLogits, 48, 5), 3);
  View targets = memory.row_of(DataType::i32, {0, 36, 5, 5, 17, 1, 20});
  View lse = memory.dense(DataType::f32, 1, kTargets);
  View loss = memory.row_of(DataType::f32, {2});

  Operation forward() const { return kernels::cross_entropy_forward(logits, targets, lse, loss, kScale); }
};

TEST_F(CrossEntropy, ForwardAddsTheScaledSumToTheLoss) {
  run_operation(memory, forward());
  EXPECT_NEAR(memory.get(loss)(0, 0), 2 + loss_of(memory.get(logits), memory.get(targets)), 1e-5);
  expect_close(memory.get(lse), log_sum_exp(memory.get(logits)), kFp32);
}

TEST_F(CrossEntropy, BackwardAgreesWithFiniteDifferences) {
  const View dlogits = memory.columns(DataType::bf16, kTargets, kLogits, 39, 1);
  run_operation(memory, forward());
  run_operation(memory, kernels::cross_entropy_backward(logits, targets, lse, dlogits, kScale));
  const Matrix t = memory.get(targets);
  const Matrix gradient = finite_differences(memory.get(logits), [&](const Matrix& at) { return loss_of(at, t); });
  expect_close(memory.get(dlogits), gradient, kBf16Rounded);
}

TEST_F(CrossEntropy, MaxIsTheLargestLogitOfEachToken) {
  const View max = memory.dense(DataType::f32, 1, kTargets);
  run_operation(memory, kernels::cross_entropy_max(logits, max));
  const Matrix of = memory.get(logits), largest = memory.get(max);
  for (std::int64_t t = 0; t < kTargets; ++t) {
    const auto row = of.values.begin() + t * kLogits;
    EXPECT_EQ(largest(0, t), *std::max_element(row, row + kLogits));
  }
}

/// A vocabulary that ranks share, and what they reduce between the three operations.
struct SharedVocabulary : CrossEntropy, testing::WithParamInterface<std::int64_t> {
  static constexpr std::int64_t kShared = 40;
  const std::int64_t ranks = GetParam(), cols = kShared / ranks;
  View whole = memory.randomize(memory.columns(DataType::bf16, kTargets, kShared, 48, 5), 3);
  View max = memory.dense(DataType::f32, 1, kTargets), sums = memory.dense(DataType::f32, 2, kTargets);
  View whole_lse = memory.dense(DataType::f32, 1, kTargets);
  View whole_loss = memory.row_of(DataType::f32, {2});

  View part(const View& of, std::int64_t rank) const {
    View columns = of;
    columns.offset += rank * cols;
    columns.cols = cols;
    return columns;
  }
  kernels::VocabShard shard(std::int64_t rank) const { return {.first = rank * cols, .vocab_size = kShared}; }

  /// Runs the three operations as the ranks would.
  void run_parts() {
    Matrix largest(1, kTargets), total(2, kTargets);
    for (double& value : largest.values) value = -1e30;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      run_operation(memory, kernels::cross_entropy_max(part(whole, rank), max));
      const Matrix own = memory.get(max);
      for (std::int64_t t = 0; t < kTargets; ++t) largest(0, t) = std::max(largest(0, t), own(0, t));
    }
    memory.set(max, largest.values);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      run_operation(memory, kernels::cross_entropy_sums(part(whole, rank), targets, max, sums, shard(rank)));
      total = plus(total, memory.get(sums));
    }
    memory.set(sums, total.values);
    run_operation(memory, kernels::cross_entropy_finish(max, sums, lse, loss, kScale));
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedVocabulary, testing::Values(1, 2, 4));

TEST_P(SharedVocabulary, GivesTheLossAndGradientOfTheWhole) {
  run_operation(memory, kernels::cross_entropy_forward(whole, targets, whole_lse, whole_loss, kScale));
  run_parts();
  expect_close(memory.get(lse), memory.get(whole_lse), {.relative = 1e-6, .of_rms = 1e-6});
  EXPECT_NEAR(memory.get(loss)(0, 0), memory.get(whole_loss)(0, 0), 1e-5);

  const View dlogits = memory.dense(DataType::bf16, kTargets, kShared);
  run_operation(memory, kernels::cross_entropy_backward(whole, targets, whole_lse, dlogits, kScale));
  const Matrix gradient = memory.get(dlogits);
  const View parts = memory.columns(DataType::bf16, kTargets, kShared, 43, 1);
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    run_operation(memory, kernels::cross_entropy_backward(part(whole, rank), targets, whole_lse, part(parts, rank),
                                                          kScale, shard(rank)));
  EXPECT_EQ(memory.get(parts).values, gradient.values);
}

TEST_P(SharedVocabulary, LargeLogitsDoNotOverflow) {
  memory.set(whole, std::vector<double>(kTargets * kShared, 2000));
  run_parts();
  EXPECT_NEAR(memory.get(loss)(0, 0), 2 + kScale * kTargets * std::log(kShared), 1e-3);
}

TEST_P(SharedVocabulary, RefusesAShardAndTargetsOutsideTheVocabulary) {
  const View last = part(whole, ranks - 1);
  EXPECT_THROW(kernels::cross_entropy_sums(last, targets, max, sums, {kShared - cols + 1, kShared}),
               std::invalid_argument);
  EXPECT_THROW(kernels::cross_entropy_backward(last, targets, lse, last, 1, {-1, kShared}), std::invalid_argument);
  const View dlogits = memory.dense(DataType::bf16, kTargets, cols);
  for (const double target : {40.0, -1.0, 1e9}) {
    memory.set(targets, std::vector<double>{0, 0, 0, target, 0, 0, 0});
    EXPECT_THROW(run_once(memory, kernels::cross_entropy_sums(last, targets, max, sums, shard(ranks - 1))),
                 std::invalid_argument);
    EXPECT_THROW(run_once(memory, kernels::cross_entropy_backward(last, targets, lse, dlogits, 1, shard(ranks - 1))),
                 std::invalid_argument);
  }
}

TEST_F(CrossEntropy, LargeLogitsDoNotOverflow) {
  memory.set(logits, std::vector<double>(kTargets * kLogits, 2000));
  run_operation(memory, forward());
  EXPECT_NEAR(memory.get(loss)(0, 0), 2 + kScale * kTargets * std::log(kLogits), 1e-3);
}

TEST_F(CrossEntropy, RefusesTargetsOutsideTheVocabulary) {
  const View dlogits = memory.dense(DataType::bf16, kTargets, kLogits);
  const Operation backward = kernels::cross_entropy_backward(logits, targets, lse, dlogits, kScale);
  for (const double target : {37.0, -1.0, 1e9}) {  // the last so far outside that touching it ends the program
    memory.set(targets, std::vector<double>{0, 0, 0, target, 0, 0, 0});
    EXPECT_THROW(run_once(memory, forward()), std::invalid_argument);
    EXPECT_THROW(run_once(memory, backward), std::invalid_argument);
  }
}

}  // namespace
}  // namespace underlap::test
