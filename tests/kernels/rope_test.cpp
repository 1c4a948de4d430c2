// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/rope/rope.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr double kRopeBase = 10'000;

/// The angle of pair i of `features` turned ones at a position.
double angle(std::int64_t position, std::int64_t i, std::int64_t features) {
  return static_cast<double>(position) *
         std::pow(kRopeBase, -2 * static_cast<double>(i) / static_cast<double>(features));
}

/// x of consecutive positions from 0, sequence after sequence, with the first `features` of each head turned.
Matrix turned(const Matrix& x, std::int64_t seq, std::int64_t head_size, std::int64_t features, double sign = 1) {
  Matrix out = x;
  const std::int64_t pairs = features / 2;
  for (std::int64_t t = 0; t < x.rows; ++t)
    for (std::int64_t head = 0; head < x.cols; head += head_size)
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double by = sign * angle(t % seq, i, features);
        const double a = x(t, head + i), b = x(t, head + pairs + i);
        out(t, head + i) = a * std::cos(by) - b * std::sin(by);
        out(t, head + pairs + i) = b * std::cos(by) + a * std::sin(by);
      }
  return out;
}

/// Heads of queries or keys, as columns of a wider tensor, and the part of each that turns.
struct RopeCase {
  std::int64_t heads, head_size, features;
};
class Rope : public testing::TestWithParam<RopeCase> {
 protected:
  static constexpr std::int64_t kSeq = 5, kTokens = 2 * kSeq;
  const RopeCase& c = GetParam();
  Memory memory;
  View table = memory.dense(DataType::f32, kSeq, c.features);
  View x =
      memory.randomize(memory.columns(DataType::bf16, kTokens, c.heads* c.head_size, c.heads* c.head_size + 24, 8));

  void SetUp() override { run_operation(memory, kernels::rope_table(table, 0, kRopeBase)); }
};
INSTANTIATE_TEST_SUITE_P(Heads, Rope,
                         testing::Values(RopeCase{3, 16, 16}, RopeCase{2, 32, 16}, RopeCase{3, 6, 6},
                                         RopeCase{2, 24, 8}, RopeCase{1, 128, 128}),
                         [](const auto& parameter) {
                           const RopeCase& c = parameter.param;
                           return std::to_string(c.features) + "Of" + std::to_string(c.head_size);
                         });

TEST_P(Rope, TheTableHasCosinesThenSinesOfEachPosition) {
  const std::int64_t first = 70'000;
  run_operation(memory, kernels::rope_table(table, first, kRopeBase));
  const Matrix values = memory.get(table);
  for (std::int64_t r = 0; r < kSeq; ++r)
    for (std::int64_t i = 0; i < c.features / 2; ++i) {
      EXPECT_NEAR(values(r, i), std::cos(angle(first + r, i, c.features)), 1e-7);
      EXPECT_NEAR(values(r, c.features / 2 + i), std::sin(angle(first + r, i, c.features)), 1e-7);
    }
}

TEST_P(Rope, ForwardTurnsEachPairByItsPositionsAngle) {
  const Matrix expected = turned(memory.get(x), kSeq, c.head_size, c.features);
  run_operation(memory, kernels::rope_forward(x, table, c.head_size));
  expect_close(memory.get(x), expected, {.relative = 0.00393, .of_rms = 1e-5});
}

TEST_P(Rope, BackwardIsTheGradientOfForward) {
  const Matrix dout = memory.get(x);
  const Matrix at(kTokens, c.heads * c.head_size);
  const Matrix gradient = finite_differences(
      at, [&](const Matrix& in) { return inner_product(turned(in, kSeq, c.head_size, c.features), dout); });
  run_operation(memory, kernels::rope_backward(x, table, c.head_size));
  expect_close(memory.get(x), gradient, {.relative = 0.00393, .of_rms = 1e-5});
}

TEST_P(Rope, TheDotProductOfTwoTokensDependsOnTheirDistanceAlone) {
  const View row = memory.random(DataType::bf16, 1, c.heads * c.head_size);
  const View same = memory.dense(DataType::bf16, kSeq, c.heads * c.head_size);
  std::vector<double> values;
  for (std::int64_t t = 0; t < kSeq; ++t)
    for (const double value : memory.get(row).values) values.push_back(value);
  memory.set(same, values);
  run_operation(memory, kernels::rope_forward(same, table, c.head_size));
  const Matrix m = memory.get(same);
  const auto product = [&](std::int64_t s, std::int64_t t) {
    double sum = 0;
    for (std::int64_t k = 0; k < m.cols; ++k) sum += m(s, k) * m(t, k);
    return sum;
  };
  EXPECT_NEAR(product(0, 2), product(2, 4), 0.02 * product(0, 0));
}

TEST(RopeCost, IsOfWhatTurns) {
  Memory memory;
  const View table = memory.dense(DataType::f32, 4, 16), x = memory.dense(DataType::bf16, 8, 3 * 32);
  const Cost cost = kernels::rope_forward(x, table, 32).cost();
  EXPECT_EQ(cost.bytes_written, 8 * 3 * 16 * 2);
  EXPECT_EQ(cost.bytes_read, 8 * 3 * 16 * 2 + 4 * 16 * 4);
  EXPECT_EQ(cost.work, Work::memory);
}

TEST(RopeShapes, ThatDoNotFitAreRefused) {
  Memory memory;
  const View table = memory.dense(DataType::f32, 4, 16), x = memory.dense(DataType::bf16, 8, 3 * 32);
  EXPECT_THROW(kernels::rope_forward(x, table, 20), std::invalid_argument) << "no whole heads";
  EXPECT_THROW(kernels::rope_forward(x, table, 8), std::invalid_argument) << "more features than a head has";
  EXPECT_THROW(kernels::rope_forward(x, memory.dense(DataType::f32, 3, 16), 32), std::invalid_argument)
      << "no whole sequences";
  EXPECT_THROW(kernels::rope_table(memory.dense(DataType::f32, 4, 15), 0, 10'000), std::invalid_argument);
  EXPECT_THROW(kernels::rope_table(table, -1, 10'000), std::invalid_argument);
  EXPECT_THROW(kernels::rope_table(table, 0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
