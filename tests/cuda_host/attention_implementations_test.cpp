// SPDX-License-Identifier: Apache-2.0
// What tests/kernels/products/attention_test.cpp is too small for: heads that take more registers and more shared
// memory.
#include <gmock/gmock.h>

#include <stdexcept>

#include "kernels/attention/attention.hpp"
#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

/// All tensors of both passes of one shape: two sequences, two query heads on one key/value head.
struct Tensors {
  explicit Tensors(std::int64_t head_size) : size(head_size) {
    for (View* view : {&q, &k, &v, &dout}) memory.randomize(*view);
  }

  Operation forward() const {
    return kernels::attention_forward(
        {.q = q, .k = k, .v = v, .out = out, .lse = lse, .seq_length = kLength, .head_size = size});
  }
  Operation backward() const {
    return kernels::attention_backward({.q = q,
                                        .k = k,
                                        .v = v,
                                        .out = out,
                                        .lse = lse,
                                        .dout = dout,
                                        .dq = dq,
                                        .dk = dk,
                                        .dv = dv,
                                        .seq_length = kLength,
                                        .head_size = size});
  }
  static constexpr std::int64_t kLength = 19;
  std::int64_t size;
  Memory memory;
  View q = memory.dense(DataType::bf16, 2 * kLength, 2 * size), k = memory.dense(DataType::bf16, 2 * kLength, size),
       v = memory.dense(DataType::bf16, 2 * kLength, size), out = memory.dense(DataType::bf16, 2 * kLength, 2 * size),
       lse = memory.dense(DataType::f32, 2, 2 * kLength), dout = memory.dense(DataType::bf16, 2 * kLength, 2 * size),
       dq = memory.dense(DataType::bf16, 2 * kLength, 2 * size), dk = memory.dense(DataType::bf16, 2 * kLength, size),
       dv = memory.dense(DataType::bf16, 2 * kLength, size);
};

class AttentionHeads : public testing::TestWithParam<std::int64_t> {};

TEST_P(AttentionHeads, AgreeWithTheCpuImplementation) {
  // Both round to bf16 what differs by the order of fp32 sums: a value may fall on either side.
  constexpr Tolerance kRoundedTwice{.relative = 0.008, .of_rms = 1e-4};
  Tensors cuda(GetParam()), cpu(GetParam());
  run_operation(cuda.memory, cuda.forward());
  run_on_cpu(cpu.memory, cpu.forward());
  expect_close(cuda.memory.get(cuda.out), cpu.memory.get(cpu.out), kRoundedTwice);
  expect_close(cuda.memory.get(cuda.lse), cpu.memory.get(cpu.lse), kFp32);
  for (Tensors* tensors : {&cuda, &cpu}) {  // the same inputs of the backward pass
    tensors->memory.set(tensors->out, cpu.memory.get(cpu.out).values);
    tensors->memory.set(tensors->lse, cpu.memory.get(cpu.lse).values);
  }
  run_operation(cuda.memory, cuda.backward());
  run_on_cpu(cpu.memory, cpu.backward());
  for (const auto view : {&Tensors::dq, &Tensors::dk, &Tensors::dv})
    expect_close(cuda.memory.get(cuda.*view), cpu.memory.get(cpu.*view), kRoundedTwice);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AttentionHeads, testing::Values(64, 65, 128, 136, 256));

TEST(AttentionImplementation, RefuseLargerHeads) {
  Tensors tensors(264);
  EXPECT_THAT([&] { run_operation(tensors.memory, tensors.forward()); },
              testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr("up to 256, not 264")));
}

}  // namespace
}  // namespace underlap::test
