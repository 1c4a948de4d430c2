// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_merge/attention_merge.hpp"

#include <stdexcept>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

double log_add(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

/// How the rows of a test's views lie in memory.
struct Layout {
  const char* name;
  std::int64_t heads, tokens, head_size;
  std::int64_t gap;  ///< elements before and behind each row
  Placement placement;
};

class AttentionMerge : public testing::TestWithParam<Layout> {
 protected:
  View numbers(DataType dtype, std::int64_t rows, std::int64_t cols, double stddev = 1) {
    return memory.randomize(memory.columns(dtype, rows, cols, cols + 2 * s.gap, s.gap), stddev);
  }

  const Layout& s = GetParam();
  Memory memory;
};

INSTANTIATE_TEST_SUITE_P(Layouts, AttentionMerge,
                         testing::Values(Layout{"dense", 3, 40, 16, 0, Placement::aligned},
                                         Layout{"strided", 4, 36, 24, 8, Placement::aligned},
                                         Layout{"odd_head", 4, 17, 5, 0, Placement::aligned},
                                         Layout{"odd", 2, 7, 8, 3, Placement::odd},
                                         Layout{"one", 1, 1, 1, 0, Placement::odd}),
                         CaseName());

TEST_P(AttentionMerge, AddsTheExponentialsOfBoth) {
  const View step = numbers(DataType::f32, s.heads, s.tokens, 5), lse = numbers(DataType::f32, s.heads, s.tokens, 5);
  const Matrix a = memory.get(step);
  Matrix expected = memory.get(lse);
  for (std::size_t i = 0; i < a.values.size(); ++i) expected.values[i] = log_add(expected.values[i], a.values[i]);
  run_operation(memory, kernels::merge_lse(step, lse), s.placement);
  expect_close(memory.get(lse), expected, kFp32);
}

// Three tiles, the first of which finds anything in the sum.
TEST_P(AttentionMerge, WeighsTilesByTheirShareOfTheExponentials) {
  const View sum =
      memory.columns(DataType::f32, s.tokens, s.heads * s.head_size, s.heads * s.head_size + 2 * s.gap, s.gap);
  const View lse = numbers(DataType::f32, s.heads, s.tokens);
  Matrix expected(s.tokens, s.heads * s.head_size);
  for (int tile = 0; tile < 3; ++tile) {
    const View out = numbers(DataType::bf16, s.tokens, s.heads * s.head_size);
    const View step = numbers(DataType::f32, s.heads, s.tokens);
    const Matrix x = memory.get(out), a = memory.get(step), whole = memory.get(lse);
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t c = 0; c < expected.cols; ++c)
        expected(t, c) += std::exp(a(c / s.head_size, t) - whole(c / s.head_size, t)) * x(t, c);
    run_operation(memory, kernels::attention_correction(out, step, lse, sum, tile == 0), s.placement);
  }
  expect_close(memory.get(sum), expected, kFp32);
}

TEST(MergeLse, IsExactWhereOneSideIsAllAndDoesNotOverflow) {
  Memory memory;
  const View step = memory.row_of(DataType::f32, {-1e30, 1e4, -200, 3e38, 2});
  const View lse = memory.row_of(DataType::f32, {7, -1e4, 300, 3e38, 2});
  run_operation(memory, kernels::merge_lse(step, lse));
  expect_close(memory.get(lse),
               [&] {
                 Matrix expected(1, 5);
                 expected.values = {7, 1e4, 300, 3e38, 2 + std::log(2.0)};
                 return expected;
               }(),
               {.relative = 1e-6});
}

TEST(MergeLse, DoesNotDependOnWhichSideComesFirst) {
  Memory memory;
  const View a = memory.random(DataType::f32, 2, 50, 4);
  const View b = memory.random(DataType::f32, 2, 50, 4);
  Memory other = memory;
  run_operation(memory, kernels::merge_lse(a, b));
  run_operation(other, kernels::merge_lse(b, a));
  EXPECT_EQ(memory.get(b).values, other.get(a).values);
}

TEST(AttentionMergeShapes, CostsAndRefusals) {
  Memory memory;
  const View out = memory.dense(DataType::bf16, 6, 32), sum = memory.dense(DataType::f32, 6, 32);
  const View step = memory.dense(DataType::f32, 4, 6), lse = memory.dense(DataType::f32, 4, 6);
  const Cost first = kernels::attention_correction(out, step, lse, sum, true).cost();
  const Cost next = kernels::attention_correction(out, step, lse, sum, false).cost();
  EXPECT_EQ(first.bytes_read, 2 * 6 * 32 + 2 * 4 * 24);
  EXPECT_EQ(first.bytes_written, 4 * 6 * 32);
  EXPECT_EQ(next.bytes_read, first.bytes_read + 4 * 6 * 32);
  EXPECT_EQ(next.flops, 2 * first.flops);
  EXPECT_EQ(kernels::merge_lse(step, lse).cost().bytes_read, 2 * 4 * 24);
  const View five_heads = memory.dense(DataType::f32, 5, 6), seven_tokens = memory.dense(DataType::f32, 4, 7);
  EXPECT_THROW(kernels::attention_correction(out, five_heads, five_heads, sum, true), std::invalid_argument);
  EXPECT_THROW(kernels::attention_correction(out, seven_tokens, lse, sum, true), std::invalid_argument);
  EXPECT_THROW(kernels::attention_correction(sum, step, lse, sum, true), std::invalid_argument);
  EXPECT_THROW(kernels::merge_lse(seven_tokens, lse), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
