// SPDX-License-Identifier: Apache-2.0
// What tests/kernels/products/attention_test.cpp is too small for: heads that take more registers and more shared
// memory.
#include <stdexcept>

#include "tests/kernels/attention_tensors.hpp"

namespace underlap::test {
namespace {

/// Two sequences, two query heads on one key/value head.
AttentionShape shape_of(std::int64_t head_size) { return {2, 19, 2, 1, head_size}; }

class AttentionHeads : public testing::TestWithParam<std::int64_t> {};

TEST_P(AttentionHeads, AgreeWithTheCpuImplementation) {
  // Both round to bf16 what differs by the order of fp32 sums: a value may fall on either side.
  constexpr Tolerance kRoundedTwice{.relative = 0.008, .of_rms = 1e-4};
  AttentionTensors cuda(shape_of(GetParam())), cpu(shape_of(GetParam()));
  run_operation(cuda.memory, cuda.forward());
  run_on_cpu(cpu.memory, cpu.forward());
  expect_close(cuda.memory.get(cuda.out), cpu.memory.get(cpu.out), kRoundedTwice);
  expect_close(cuda.memory.get(cuda.lse), cpu.memory.get(cpu.lse), kFp32);
  for (AttentionTensors* tensors : {&cuda, &cpu}) {  // the same inputs of the backward pass
    tensors->memory.set(tensors->out, cpu.memory.get(cpu.out).values);
    tensors->memory.set(tensors->lse, cpu.memory.get(cpu.lse).values);
  }
  run_operation(cuda.memory, cuda.backward());
  run_on_cpu(cpu.memory, cpu.backward());
  for (const auto view : {&AttentionTensors::dq, &AttentionTensors::dk, &AttentionTensors::dv})
    expect_close(cuda.memory.get(cuda.*view), cpu.memory.get(cpu.*view), kRoundedTwice);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AttentionHeads, testing::Values(64, 65, 128, 136, 256));

TEST(AttentionImplementation, RefuseLargerHeads) {
  AttentionTensors tensors(shape_of(264));
  EXPECT_THAT([&] { run_operation(tensors.memory, tensors.forward()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("up to 256, not 264")));
}

}  // namespace
}  // namespace underlap::test
