// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <stdexcept>

#include "tests/kernels/attention_tensors.hpp"

namespace underlap::test {
namespace {

/// The keys that query i sees: from `first_key` on, how many.
std::int64_t first_key(const AttentionShape& s, std::int64_t i) { return i / s.seq_length * s.keys(); }
std::int64_t seen(const AttentionShape& s, std::int64_t i) {
  return s.causal ? i % s.seq_length + 1 + s.keys() - s.seq_length : s.keys();
}

struct Inputs {
  Matrix q, k, v;
};

struct Outputs {
  Matrix out, lse;
};

double score(const Inputs& in, const AttentionShape& s, std::int64_t head, std::int64_t i, std::int64_t j) {
  const std::int64_t group = head / (s.heads / s.groups);
  double sum = 0;
  for (std::int64_t d = 0; d < s.head_size; ++d) {
    sum += in.q(i, head * s.head_size + d) * in.k(j, group * s.head_size + d);
  }
  return sum / std::sqrt(static_cast<double>(s.head_size));
}

void attend(const Inputs& in, const AttentionShape& s, std::int64_t head, std::int64_t i, Outputs& to) {
  const std::int64_t group = head / (s.heads / s.groups);
  const std::int64_t first = first_key(s, i), end = first + seen(s, i);
  std::vector<double> weights;
  for (std::int64_t j = first; j < end; ++j) weights.push_back(score(in, s, head, i, j));
  const double largest = *std::ranges::max_element(weights);
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - largest);
  to.lse(head, i) = largest + std::log(total);
  for (std::int64_t d = 0; d < s.head_size; ++d) {
    double sum = 0;
    for (std::int64_t j = first; j < end; ++j) {
      sum += weights[static_cast<std::size_t>(j - first)] * in.v(j, group * s.head_size + d);
    }
    to.out(i, head * s.head_size + d) = sum / total;
  }
}

Outputs reference(const Inputs& in, const AttentionShape& s) {
  Outputs to{Matrix(s.tokens(), s.wide()), Matrix(s.heads, s.tokens())};
  for (std::int64_t head = 0; head < s.heads; ++head) {
    for (std::int64_t i = 0; i < s.tokens(); ++i) attend(in, s, head, i, to);
  }
  return to;
}

class Attention : public testing::TestWithParam<AttentionShape>, protected AttentionTensors {
 protected:
  Attention() : AttentionTensors(GetParam()) { run_operation(memory, forward()); }

  Inputs inputs() { return {memory.get(q), memory.get(k), memory.get(v)}; }
};

TEST_P(Attention, ForwardAgreesWithTheReference) {
  const Outputs expected = reference(inputs(), s);
  expect_close(memory.get(out), expected.out, kBf16Rounded);
  expect_close(memory.get(lse), expected.lse, kFp32);
}

TEST_P(Attention, BackwardAgreesWithFiniteDifferences) {
  run_operation(memory, backward());
  const Matrix weights = memory.get(dout);
  const auto gradient = [&](Matrix Inputs::*which) {
    Inputs in = inputs();
    return finite_differences(in.*which, [&](const Matrix& at) {
      in.*which = at;
      return inner_product(reference(in, s).out, weights);
    });
  };
  expect_close(memory.get(dq), gradient(&Inputs::q), kBf16Input);
  expect_close(memory.get(dk), gradient(&Inputs::k), kBf16Input);
  expect_close(memory.get(dv), gradient(&Inputs::v), kBf16Rounded);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
                         testing::Values(AttentionShape{2, 7, 4, 2, 8, true},   // odd sequence, grouped, packed
                                         AttentionShape{1, 1, 1, 1, 8, false},  // one query
                                         AttentionShape{1, 50, 1, 1, 8,
                                                        false},  // three blocks of queries, the last of two
                                         AttentionShape{1, 33, 2, 1, 5, false},  // a head that is no whole vector
                                         AttentionShape{1, 26, 2, 1, 20, true}));

INSTANTIATE_TEST_SUITE_P(Tiles, Attention,
                         testing::Values(AttentionShape{2, 5, 2, 1, 8, false, 5, false},   // a whole square
                                         AttentionShape{2, 3, 2, 2, 8, false, 19, false},  // more keys, none hidden
                                         AttentionShape{1, 35, 2, 1, 8, false, 4, false},  // fewer keys than queries
                                         AttentionShape{2, 18, 2, 1, 5, false, 23,
                                                        true},  // the diagonal ends in the corner
                                         AttentionShape{1, 1, 1, 1, 8, false, 37, true},  // one query, which sees all
                                         AttentionShape{1, 3, 2, 1, 8, false, 35, true}));

struct AttentionLimits : testing::Test {
  Memory memory;
  View q = memory.dense(DataType::bf16, 16, 32), k = memory.dense(DataType::bf16, 16, 16),
       v = memory.dense(DataType::bf16, 16, 16), out = memory.dense(DataType::bf16, 16, 32),
       lse = memory.dense(DataType::f32, 4, 16);

  Operation forward(std::int64_t seq_length, std::int64_t head_size) const {
    return kernels::attention_forward(
        {.q = q, .k = k, .v = v, .out = out, .lse = lse, .seq_length = seq_length, .head_size = head_size});
  }
};

TEST_F(AttentionLimits, LargeScoresDoNotOverflow) {
  memory.randomize(q, 60);
  memory.randomize(k, 60);
  memory.randomize(v);
  run_operation(memory, forward(8, 8));
  const AttentionShape s{2, 8, 4, 2, 8, false};
  expect_close(memory.get(out), reference({memory.get(q), memory.get(k), memory.get(v)}, s).out,
               {.relative = 0.00393, .of_rms = 1e-3});
}

TEST_F(AttentionLimits, CostCountsTheCausalPairs) {
  const Cost cost = forward(8, 8).cost();
  // 2 sequences, 4 heads, 36 pairs of query and key each, two products of 8 multiply-adds a pair.
  EXPECT_EQ(cost.flops, 2 * 4 * 36 * 2 * 2.0 * 8);
  EXPECT_EQ(cost.bytes_read, 2 * 16 * (32 + 16 + 16));
  EXPECT_EQ(cost.bytes_written, 2 * 16 * 32 + 4 * 4 * 16);
  EXPECT_EQ(cost.work, Work::attention_forward);
  EXPECT_EQ(cost.extent, (std::array<std::int64_t, 3>{8, 8, 2 * 4}));
  const Operation backward = AttentionTensors({2, 8, 4, 2, 8}).backward();
  EXPECT_EQ(backward.cost().flops, 2.5 * cost.flops);
  EXPECT_EQ(backward.cost().work, Work::attention_backward);
  EXPECT_EQ(backward.cost().extent, cost.extent);
  EXPECT_EQ(backward.cost().bytes_written, 2 * 16 * (32 + 16 + 16));
  const Operation tile = AttentionTensors({2, 4, 4, 2, 8, false, 8, false}).backward();
  EXPECT_EQ(tile.cost().flops, 2 * 4 * 32 * 5 * 2.0 * 8) << "32 pairs";
  EXPECT_EQ(tile.cost().extent, (std::array<std::int64_t, 3>{8, 8, 2 * 4})) << "blocks own keys";
}

TEST(AttentionCost, OfATileCountsItsPairs) {
  const auto tile = [](std::int64_t seq_length, std::int64_t kv_length, bool causal) {
    return AttentionTensors({2, seq_length, 4, 2, 8, false, kv_length, causal}).forward().cost();
  };
  constexpr double kPair = 2 * 4 * 4.0 * 8;  // sequences, heads, operations of a pair
  EXPECT_EQ(tile(8, 8, false).flops, 64 * kPair);
  EXPECT_EQ(tile(4, 8, false).flops, 32 * kPair);
  EXPECT_EQ(tile(8, 3, false).flops, 24 * kPair);
  EXPECT_EQ(tile(4, 8, true).flops, (5 + 6 + 7 + 8) * kPair);
  EXPECT_EQ(tile(4, 8, true).bytes_read, 2 * (8 * 32 + 2 * 16 * 16));
  EXPECT_EQ(tile(4, 8, true).extent, (std::array<std::int64_t, 3>{4, 8, 2 * 4}));
}

TEST_F(AttentionLimits, RefusesAQueryWithoutAKeyAndKeysThatDoNotFit) {
  kernels::AttentionForward tensors{
      .q = q, .k = k, .v = v, .out = out, .lse = lse, .seq_length = 8, .head_size = 8, .kv_length = 7};
  EXPECT_THAT([&] { kernels::attention_forward(tensors); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("kv_length is 7, must be at least seq_length with causal attention")));
  tensors.causal = false;
  tensors.kv_length = -1;
  EXPECT_THROW(kernels::attention_forward(tensors), std::invalid_argument);
  tensors.kv_length = 9;  // two sequences have 18 of them, k has 16
  EXPECT_THAT([&] { kernels::attention_forward(tensors); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("k is [16, 16]")));
}

TEST_F(AttentionLimits, NamesTheSizesThatDoNotDivide) {
  EXPECT_THAT([&] { forward(5, 8); }, ThrowsMessage<std::invalid_argument>(HasSubstr("tokens is 16")));
  EXPECT_THAT([&] { forward(8, 7); }, ThrowsMessage<std::invalid_argument>(HasSubstr("head_size 7")));
  EXPECT_THROW(forward(8, 32), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
