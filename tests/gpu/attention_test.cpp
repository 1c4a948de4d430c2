// SPDX-License-Identifier: Apache-2.0
// cuDNN's attention against the CPU implementation, at sizes that fill several of its tiles.
#include "kernels/attention/attention.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <tuple>

#include "platform/errors.hpp"
#include "tests/gpu/libraries.hpp"
#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

struct Shape {
  std::int64_t heads, groups, head_size, length;
  std::int64_t keys = length;  ///< of a sequence
  bool causal = true;
};

// How dq is added up: in one order, or by atomics.
class CudnnAttention : public testing::TestWithParam<std::tuple<Shape, bool>> {
 protected:
  void SetUp() override { gpu::use_cudnn(true, is_deterministic()); }
  void TearDown() override { gpu::use_cudnn(false); }

  static bool is_deterministic() { return std::get<1>(GetParam()); }

  void expect_like_host(const Operation& operation, const std::vector<View>& outputs, const Tolerance& tolerance) {
    run_operation(memory_, operation, Placement::aligned, is_deterministic());
    std::vector<Matrix> on_gpu;
    for (const View& view : outputs) on_gpu.push_back(memory_.get(view));
    run_on_cpu(memory_, operation);
    for (std::size_t i = 0; i < outputs.size(); ++i) expect_close(on_gpu[i], memory_.get(outputs[i]), tolerance);
  }

  Memory memory_;
};

/// Equal sums, each rounded to bf16 by itself, may lie 2^-7 of the value apart.
constexpr Tolerance kEachRounded{.relative = 0.00785, .of_rms = 0.02};
// Probabilities and the gradients of scores are bf16 inside cuDNN: gradients may be further off than one rounding.
constexpr Tolerance kGradients{.relative = 0.01, .of_rms = 0.06};

TEST_P(CudnnAttention, AgreesWithTheHostInBothPasses) {
  const Shape s = std::get<0>(GetParam());
  const std::int64_t tokens = 2 * s.length, wide = s.heads * s.head_size, narrow = s.groups * s.head_size;
  const auto queries = [&] { return memory_.dense(DataType::bf16, tokens, wide); };
  const auto keys = [&] { return memory_.dense(DataType::bf16, 2 * s.keys, narrow); };
  const View q = memory_.randomize(queries()), k = memory_.randomize(keys()), v = memory_.randomize(keys());
  const View out = queries(), lse = memory_.dense(DataType::f32, s.heads, tokens), dout = memory_.randomize(queries());
  const View dq = queries(), dk = keys(), dv = keys();
  try {
    expect_like_host(kernels::attention_forward({q, k, v, out, lse, s.length, s.head_size, s.keys, s.causal}),
                     {out, lse}, kEachRounded);
    expect_like_host(
        kernels::attention_backward({q, k, v, out, lse, dout, dq, dk, dv, s.length, s.head_size, s.keys, s.causal}),
        {dq, dk, dv}, kGradients);
  } catch (const MachineError& error) {
    if (std::string_view(error.what()).find("computes this incorrectly") == std::string_view::npos) throw;
    GTEST_SKIP() << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnAttention,
                         testing::Combine(testing::Values(Shape{4, 4, 64, 256}, Shape{8, 2, 128, 200},
                                                          Shape{6, 3, 8, 24}, Shape{8, 2, 128, 256, 128, false},
                                                          Shape{4, 4, 64, 128, 256, false}, Shape{8, 2, 128, 128, 384},
                                                          Shape{4, 2, 64, 100, 333}),
                                          testing::Bool()));

}  // namespace
}  // namespace underlap::test
