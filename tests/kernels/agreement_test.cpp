// SPDX-License-Identifier: Apache-2.0
// CUDA implementations against CPU implementations on random data, at sizes that fill several blocks: views whose rows
// begin at multiples of 16 bytes, dense and strided, views that do not, and rows that end inside a group of 16 bytes.
#include <utility>

#include "kernels/activation/activation.hpp"
#include "kernels/adam/adam.hpp"
#include "kernels/bias/bias.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reduction/reduction.hpp"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/rope/rope.hpp"
#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

/// How the views of a test lie in memory.
struct Layout {
  const char* name;
  bool is_aligned;
  std::int64_t rows, cols;
  std::int64_t gap;  ///< elements between the end of a row and the start of the next
};

class Agreement : public testing::TestWithParam<Layout> {
 protected:
  /// A view of the layout's kind. run_operation puts 33 elements before a tensor's first.
  View view(DataType dtype, std::int64_t rows, std::int64_t cols) {
    const std::int64_t unit = 16 / size_of(dtype);
    const std::int64_t first = layout.is_aligned ? unit - 33 % unit : 1;
    View result = memory.columns(dtype, rows, cols, cols + layout.gap, 0);
    result.tensor = memory.tensor(dtype, first + rows * (cols + layout.gap));
    result.offset = first;
    return result;
  }
  View random(DataType dtype, double stddev = 1) { return memory.randomize(out(dtype), stddev); }
  View out(DataType dtype = DataType::bf16, std::int64_t factor = 1) {
    return view(dtype, layout.rows, layout.cols * factor);
  }
  View row(DataType dtype, std::int64_t cols) { return memory.randomize(view(dtype, 1, cols)); }

  /// The CPU implementation's results beside the other one's, for all that `operation` writes.
  template <class Compare>
  void compare(const Operation& operation, Compare compare_matrices) {
    Memory expected = memory;
    const auto run_cpu = [](const Operation& of, std::span<const BoundView> views) {
      of.cpu()(Arguments(views, of.parameters()));
    };
    for (GuardedView& guarded : run_once(expected, operation, Placement::odd, *+run_cpu)) guarded.copy_back(expected);
    run_operation(memory, operation);
    for (const Use& use : operation.uses())
      if (use.access != Access::in) compare_matrices(memory.get(use.view), expected.get(use.view));
  }
  void expect_equal(const Operation& operation) {
    compare(operation, [&](const Matrix& actual, const Matrix& expected) {
      EXPECT_EQ(actual.values, expected.values) << name_of(operation.name());
    });
  }
  void expect_near(const Operation& operation, const Tolerance& tolerance) {
    SCOPED_TRACE(name_of(operation.name()));
    compare(operation,
            [&](const Matrix& actual, const Matrix& expected) { expect_close(actual, expected, tolerance); });
  }

  const Layout& layout = GetParam();
  Memory memory;
};

/// Two results that were each rounded to bf16 may lie on both sides of a border.
constexpr Tolerance kBf16Twice{.relative = 0.0079, .of_rms = 1e-5};

TEST_P(Agreement, OfElementwiseIsToTheBit) {
  expect_equal(kernels::cast(random(DataType::f32), out()));
  expect_equal(kernels::cast(random(DataType::bf16), out(DataType::f32)));
  expect_equal(kernels::residual_add(random(DataType::bf16), random(DataType::bf16), out()));
  expect_equal(kernels::scale(random(DataType::f32), 0.3));
  expect_equal(kernels::scale(random(DataType::bf16), 0.3));
  for (const DataType dtype :
       {DataType::f32, DataType::bf16, DataType::i32, DataType::u8, DataType::f64, DataType::f8e4m3, DataType::f8e5m2})
    expect_equal(kernels::fill(out(dtype), 3));
}

TEST_P(Agreement, OfCopiesIsToTheBit) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    expect_equal(kernels::copy(random(dtype), out(dtype)));
    const View pieces[] = {random(dtype), row(dtype, 3), random(dtype)};
    expect_equal(kernels::concatenate(pieces, view(dtype, 1, 2 * layout.rows * layout.cols + 3)));
  }
}

TEST_P(Agreement, OfSumSlotsIsToTheBit) {
  for (const DataType from : {DataType::f32, DataType::bf16})
    for (const DataType to : {DataType::f32, DataType::bf16})
      expect_equal(kernels::sum_slots(random(from), view(to, 1, layout.cols), 0.3));
}

TEST_P(Agreement, OfSumFp8SlotsIsToTheBit) {
  for (const DataType from : {DataType::f8e4m3, DataType::f8e5m2})
    for (const DataType to : {DataType::f32, DataType::bf16})
      expect_equal(kernels::sum_fp8_slots(random(from), row(DataType::f32, layout.rows), view(to, 1, layout.cols)));
}

TEST_P(Agreement, OfAdamIsToTheBitAndAShardEqualsTheSlice) {
  const std::int64_t n = layout.rows * layout.cols;
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    kernels::AdamTensors t{.grad = row(dtype, n),
                           .grad_factor = memory.row_of(DataType::f32, {0.7}),
                           .main = row(DataType::f32, n),
                           .m = row(DataType::f32, n),
                           .v = row(DataType::f32, n),
                           .param = view(DataType::bf16, 1, n),
                           .nonfinite = memory.dense(DataType::i32, 1, 1)};
    std::vector<double> squares = memory.get(t.v).values;
    for (double& value : squares) value *= value;
    memory.set(t.v, squares);
    const kernels::AdamParameters parameters{.weight_decay = 0.1, .step = 7};
    Memory whole = memory;
    run_operation(whole, kernels::adam(t, parameters));
    for (const auto& [first, count] : {std::pair{std::int64_t{0}, n / 3}, {n / 3, n - n / 3}}) {
      kernels::AdamTensors shard = t;
      for (View* part : {&shard.grad, &shard.main, &shard.m, &shard.v, &shard.param})
        *part = flat(part->tensor, part->offset + first, count);
      expect_equal(kernels::adam(shard, parameters));
    }
    for (const View& written : {t.main, t.m, t.v, t.param})
      EXPECT_EQ(whole.get(written).values, memory.get(written).values);
  }
}

TEST_P(Agreement, OfRandomIsToAUnitInTheLastPlace) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const Tolerance unit{.relative = dtype == DataType::f32 ? 1.2e-7 : 0.0079};
    const View numbers = out(dtype);
    expect_near(kernels::random_normal(numbers, 0x123456789ABCULL, 5, 0.02), unit);
    for (const std::int64_t cols : {3, 7})  // a row shorter than a group, and one that ends inside it
      expect_near(
          kernels::random_normal_block(numbers, 3, 5, 0.02, {.local_cols = cols, .whole_cols = 12, .first = 15}), unit);
  }
}

TEST_P(Agreement, OfActivationsIsToARounding) {
  const View x = random(DataType::bf16, 2), dout = random(DataType::bf16);
  expect_near(kernels::gelu_forward(x, out()), kBf16Twice);
  expect_near(kernels::gelu_backward(x, dout, out()), kBf16Twice);
  expect_near(kernels::squared_relu_forward(x, out()), kBf16Twice);
  expect_near(kernels::squared_relu_backward(x, dout, out()), kBf16Twice);
  const View both = memory.randomize(out(DataType::bf16, 2), 2);
  expect_near(kernels::swiglu_forward(both, out()), kBf16Twice);
  expect_near(kernels::swiglu_backward(both, dout, out(DataType::bf16, 2)), kBf16Twice);
}

TEST_P(Agreement, OfCrossEntropyIsToARounding) {
  const View logits = random(DataType::bf16, 3), targets = view(DataType::i32, 1, layout.rows);
  memory.set(targets, [&](std::int64_t t) { return (layout.cols - 1) * (t % 2); });
  const View lse = view(DataType::f32, 1, layout.rows), loss = memory.dense(DataType::f32, 1, 1);
  expect_near(kernels::cross_entropy_forward(logits, targets, lse, loss, 0.1), kFp32);
  expect_near(kernels::cross_entropy_backward(logits, targets, lse, out(), 3), kBf16Twice);
  const kernels::VocabShard first{.first = 0, .vocab_size = layout.cols + 7};
  const View max = view(DataType::f32, 1, layout.rows), sums = view(DataType::f32, 2, layout.rows);
  expect_equal(kernels::cross_entropy_max(logits, max));
  expect_near(kernels::cross_entropy_sums(logits, targets, max, sums, first), kFp32);
  expect_near(kernels::cross_entropy_finish(max, sums, lse, loss, 0.1), kFp32);
  expect_near(kernels::cross_entropy_backward(logits, targets, lse, out(), 3, first), kBf16Twice);
}

TEST_P(Agreement, OfEmbeddingIsToTheBit) {
  constexpr std::int64_t kVocabulary = 19;
  const View word = memory.randomize(view(DataType::bf16, kVocabulary, layout.cols)), dout = random(DataType::bf16);
  const View position = row(DataType::bf16, layout.cols), tokens = view(DataType::i32, 1, layout.rows);
  memory.set(tokens, [](std::int64_t t) { return t * t % kVocabulary; });
  expect_equal(kernels::embedding_forward(tokens, word, position, out()));
  for (const DataType dtype : {DataType::f32, DataType::bf16})
    expect_equal(kernels::embedding_wgrad(tokens, dout, memory.randomize(view(dtype, kVocabulary, layout.cols)),
                                          row(dtype, layout.cols)));
  const View positions = memory.set(view(DataType::i32, 1, layout.rows), [](std::int64_t t) { return t * t * t % 7; });
  const kernels::EmbeddedTokens placed(tokens, positions);
  const View places = memory.randomize(view(DataType::bf16, 7, layout.cols));
  expect_equal(kernels::embedding_forward(placed, word, places, out()));
  for (const DataType dtype : {DataType::f32, DataType::bf16})
    expect_equal(kernels::embedding_wgrad(placed, dout, memory.randomize(view(dtype, kVocabulary, layout.cols)),
                                          memory.randomize(view(dtype, 7, layout.cols))));
  constexpr kernels::VocabShard kMiddle{.first = 4, .vocab_size = kVocabulary};
  const View part = memory.randomize(view(DataType::bf16, 6, layout.cols));
  expect_equal(kernels::embedding_forward(tokens, part, position, out(), kMiddle));
  expect_equal(kernels::embedding_wgrad(tokens, dout, part, row(DataType::f32, layout.cols), kMiddle));
}

TEST_P(Agreement, OfSumOfSquaresIsToFp32) {
  for (const DataType dtype : {DataType::f32, DataType::bf16})
    expect_near(kernels::sum_of_squares(random(dtype), memory.dense(DataType::f32, 1, 1)), {.relative = 1.2e-7});
}

TEST_P(Agreement, OfLayerNormIsToARounding) {
  const View x = random(DataType::bf16, 0.5), dout = random(DataType::bf16);
  const View weight = row(DataType::bf16, layout.cols), bias = row(DataType::bf16, layout.cols);
  const View mean = row(DataType::f32, layout.rows), rstd = row(DataType::f32, layout.rows);
  expect_near(kernels::layer_norm_forward(
                  {.x = x, .weight = weight, .bias = bias, .out = out(), .mean = mean, .rstd = rstd}, 1e-3),
              kBf16Twice);
  expect_near(kernels::layer_norm_dgrad({.x = x,
                                         .weight = weight,
                                         .mean = mean,
                                         .rstd = rstd,
                                         .dout = dout,
                                         .residual = random(DataType::bf16),
                                         .dx = out()}),
              kBf16Twice);
  for (const DataType dtype : {DataType::f32, DataType::bf16})
    expect_near(kernels::layer_norm_wgrad({.x = x,
                                           .mean = mean,
                                           .rstd = rstd,
                                           .dout = dout,
                                           .dweight = row(dtype, layout.cols),
                                           .dbias = row(dtype, layout.cols)}),
                dtype == DataType::f32 ? kFp32 : kBf16Twice);
}

TEST_P(Agreement, OfBiasesIsToARounding) {
  const View x = random(DataType::bf16), bias = row(DataType::bf16, layout.cols);
  const View sum = out();
  expect_equal(kernels::biased_residual_add(random(DataType::bf16), x, bias, sum));
  expect_near(kernels::bias_wgrad(x, row(DataType::f32, layout.cols)), kFp32);
  expect_near(kernels::bias_wgrad(x, row(DataType::bf16, layout.cols)), kBf16Twice);
  expect_near(kernels::gelu_forward(x, sum, bias), kBf16Twice);
  expect_near(kernels::gelu_backward(x, random(DataType::bf16), sum, bias), kBf16Twice);
}

TEST_P(Agreement, OfRopeIsToARounding) {
  for (const auto& [head_size, features] : {std::pair{64, 64}, {32, 16}, {10, 6}}) {
    const View table = view(DataType::f32, 11, features);
    const View dense = memory.dense(DataType::f32, 11, features);
    expect_near(kernels::rope_table(table, 5000, 10'000), kFp32);
    expect_near(kernels::rope_table(dense, 5000, 10'000), kFp32);
    const View x = memory.randomize(view(DataType::bf16, 33, 4 * head_size));
    expect_near(kernels::rope_forward(x, dense, head_size), kBf16Twice);
    expect_near(kernels::rope_backward(x, dense, head_size), kBf16Twice);
  }
}

TEST_P(Agreement, OfRmsNormIsToARounding) {
  const View x = random(DataType::bf16), dout = random(DataType::bf16), residual = random(DataType::bf16);
  const View weight = row(DataType::bf16, layout.cols), rstd = view(DataType::f32, 1, layout.rows);
  expect_near(kernels::rms_norm_forward(x, weight, out(), rstd, 1e-3), kBf16Twice);
  expect_near(kernels::rms_norm_dgrad(
                  {.x = x, .weight = weight, .rstd = rstd, .dout = dout, .residual = residual, .dx = out()}),
              kBf16Twice);
  expect_near(kernels::rms_norm_wgrad(x, rstd, dout, row(DataType::f32, layout.cols)), kFp32);
  expect_near(kernels::rms_norm_wgrad(x, rstd, dout, row(DataType::bf16, layout.cols)), kBf16Twice);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Agreement,
                         testing::Values(Layout{"dense", true, 37, 264, 0}, Layout{"strided", true, 37, 264, 24},
                                         Layout{"odd", false, 37, 264, 1}, Layout{"tail", true, 13, 2403, 5},
                                         Layout{"narrow", true, 50, 5, 3}, Layout{"wide", true, 3, 20480, 0},
                                         Layout{"several_warps", true, 70, 1600, 8},
                                         Layout{"half_a_block", true, 11, 5120, 0}),
                         CaseName());

}  // namespace
}  // namespace underlap::test
