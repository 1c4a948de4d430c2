// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/bias/bias.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kBiasRows = 9, kBiasCols = 24;

TEST(Bias, IsAddedToEachRowWithTheResidual) {
  Memory memory;
  for (const std::int64_t width : {kBiasCols, kBiasCols + 5}) {
    const auto random = [&] {
      return memory.randomize(memory.columns(DataType::bf16, kBiasRows, kBiasCols, width, 0));
    };
    const View residual = random(), x = random(), out = random();
    const View bias = memory.random(DataType::bf16, 1, kBiasCols);
    run_operation(memory, kernels::biased_residual_add(residual, x, bias, out));
    const Matrix expected = plus_row(plus(memory.get(residual), memory.get(x)), memory.get(bias));
    expect_close(memory.get(out), expected, kBf16Rounded);
  }
}

TEST(Bias, WgradAddsTheSumsOfColumnsInBothTypes) {
  Memory memory;
  for (const std::int64_t width : {kBiasCols, kBiasCols + 5}) {
    const View dy = memory.randomize(memory.columns(DataType::bf16, kBiasRows, kBiasCols, width, 0));
    for (const DataType dtype : {DataType::f32, DataType::bf16}) {
      const View dbias = memory.random(dtype, 1, kBiasCols);
      Matrix expected = memory.get(dbias);
      for (std::int64_t r = 0; r < kBiasRows; ++r)
        for (std::int64_t c = 0; c < kBiasCols; ++c) expected(0, c) += memory.get(dy)(r, c);
      run_operation(memory, kernels::bias_wgrad(dy, dbias));
      expect_close(memory.get(dbias), expected, dtype == DataType::f32 ? kFp32 : kBf16Rounded);
    }
  }
}

TEST(Bias, CostsAreOfOnePassAndTheBias) {
  Memory memory;
  const View x = memory.dense(DataType::bf16, kBiasRows, kBiasCols),
             y = memory.dense(DataType::bf16, kBiasRows, kBiasCols);
  const View out = memory.dense(DataType::bf16, kBiasRows, kBiasCols),
             bias = memory.dense(DataType::bf16, 1, kBiasCols);
  EXPECT_EQ(kernels::biased_residual_add(x, y, bias, out).cost().bytes_read, 2 * x.bytes() + bias.bytes());
  const View dbias = memory.dense(DataType::f32, 1, kBiasCols);
  EXPECT_EQ(kernels::bias_wgrad(x, dbias).cost().bytes_read, x.bytes() + dbias.bytes());
  EXPECT_EQ(kernels::bias_wgrad(x, dbias).cost().bytes_written, dbias.bytes());
}

TEST(Bias, OfAnotherWidthIsRefused) {
  Memory memory;
  const View x = memory.dense(DataType::bf16, kBiasRows, kBiasCols),
             y = memory.dense(DataType::bf16, kBiasRows, kBiasCols);
  const View narrow = memory.dense(DataType::bf16, 1, kBiasCols - 1);
  EXPECT_THROW(kernels::biased_residual_add(x, y, narrow, y), std::invalid_argument);
  EXPECT_THROW(kernels::bias_wgrad(x, narrow), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
