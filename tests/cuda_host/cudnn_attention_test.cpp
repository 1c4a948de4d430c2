// SPDX-License-Identifier: Apache-2.0
// What the graphs that cuDNN is given mean: a double computes them literally. cudnn_plans_test.cpp asks cuDNN itself
// whether it takes them.
#include "kernels/attention/cudnn_attention.hpp"

#include <tuple>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"
#include "platform/errors.hpp"
#include "tests/cuda_host/cudnn_double.hpp"
#include "tests/cuda_host/machine.hpp"
#include "tests/kernels/attention_tensors.hpp"

namespace underlap::test {
namespace {

using cuda::DqSums;
using cuda_host::CudnnDouble;

constexpr std::int64_t kLength = 11, kSequences = 2, kTokens = kSequences * kLength;

struct Shape {
  std::int64_t heads, groups, head_size;
  bool packed;
  std::int64_t keys = kLength;  ///< of a sequence
  bool causal = true;
};

/// lse is one of several.
struct Tensors : AttentionTensors {
  explicit Tensors(const Shape& shape)
      : AttentionTensors({.sequences = kSequences,
                          .seq_length = kLength,
                          .heads = shape.heads,
                          .groups = shape.groups,
                          .head_size = shape.head_size,
                          .packed = shape.packed,
                          .kv_length = shape.keys,
                          .causal = shape.causal,
                          .lse_gap = 3}) {}
};

class HeapWorkspace final : public cuda::Workspace {
 public:
  std::byte* take(std::int64_t bytes) override {
    if (bytes > taken) memory.reset(static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256)));
    taken = std::max(taken, bytes);
    return memory.get();
  }
  std::int64_t taken = 0;
  std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, std::free};
};

class CudnnAttention : public testing::Test {
 protected:
  CudnnAttention() {
    fake.reset();
    cuda_host::Machine::instance().reset(1, 9);
    cuda::check(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking));
    context.workspace = &workspace;
  }
  ~CudnnAttention() override { cudaStreamDestroy(context.stream); }

  /// Through the operation's CUDA implementation, which goes to cuDNN where the context has it.
  void run(Tensors& tensors, const Operation& operation) { run(tensors, operation, attention); }
  void run(Tensors& tensors, const Operation& operation, cuda::Attention& by) {
    context.attention = &by;
    const std::vector<BoundView> views = bind(tensors.memory, operation);
    cuda::cuda_implementation(operation.name())(Arguments(views, operation.parameters()), context);
    cuda::check(cudaStreamSynchronize(context.stream));
  }

  CudnnDouble& fake = CudnnDouble::instance();
  HeapWorkspace workspace;
  cuda::LaunchContext context;
  cuda::Attention attention{CudnnDouble::api()};
};

class CudnnAttentionGraphs : public CudnnAttention, public testing::WithParamInterface<std::tuple<Shape, DqSums>> {};

// Probabilities and the gradients of scores are rounded to bf16 there, and not in the CPU implementation. Gradients are
// small differences of these.
constexpr Tolerance kBf16Between{.relative = 0.008, .of_rms = 0.02};
constexpr Tolerance kBf16Gradients{.relative = 0.008, .of_rms = 0.06};

TEST_P(CudnnAttentionGraphs, MeanWhatTheCpuFormsCompute) {
  const auto& [shape, dq_sums] = GetParam();
  context.is_deterministic = dq_sums == DqSums::ordered;
  Tensors cuda(shape), cpu(shape);
  run(cuda, cuda.forward());
  run_on_cpu(cpu.memory, cpu.forward());
  expect_close(cuda.memory.get(cuda.out), cpu.memory.get(cpu.out), kBf16Between);
  expect_close(cuda.memory.get(cuda.lse), cpu.memory.get(cpu.lse), kFp32);
  run(cuda, cuda.backward());
  run_on_cpu(cpu.memory, cpu.backward());
  for (const auto view : {&Tensors::dq, &Tensors::dk, &Tensors::dv})
    expect_close(cuda.memory.get(cuda.*view), cpu.memory.get(cpu.*view), kBf16Gradients);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnAttentionGraphs,
                         testing::Combine(testing::Values(Shape{2, 2, 8, false}, Shape{4, 2, 8, true},
                                                          Shape{3, 1, 16, true}, Shape{4, 2, 8, false, 17},
                                                          Shape{2, 1, 8, true, 5, false},
                                                          Shape{2, 2, 8, false, 14, false}),
                                          testing::Values(DqSums::ordered, DqSums::atomic)));

TEST_F(CudnnAttention, PlansOnceForEachPassAndShape) {
  Tensors small({2, 2, 8, false}), large({2, 1, 16, false}), packed({2, 2, 8, true});
  for (int i = 0; i < 3; ++i) run(small, small.forward());
  EXPECT_EQ(fake.num_plans, 1);
  EXPECT_EQ(fake.num_executions, 3);
  run(small, small.backward());
  run(large, large.forward());
  run(packed, packed.forward());
  EXPECT_EQ(fake.num_plans, 4);
  EXPECT_THAT(attention.choices(), Contains(AllOf(HasSubstr("attention backward, 2 sequences of 11, 2 heads of 8"),
                                                  HasSubstr("cuDNN 9.19.0, engine 6, 512 bytes of workspace"))));
}

TEST_F(CudnnAttention, PlansATileByItsKeysAndByWhatIsHidden) {
  Tensors square({2, 2, 8, false}), full({2, 2, 8, false, kLength, false}), longer({2, 2, 8, false, 13});
  for (Tensors* tensors : {&square, &full, &longer}) run(*tensors, tensors->forward());
  EXPECT_EQ(fake.num_plans, 3);
  const std::vector<std::string> choices = attention.choices();
  EXPECT_THAT(choices, Contains(HasSubstr("2 sequences of 11, 2 heads")));
  EXPECT_THAT(choices, Contains(HasSubstr("2 sequences of 11 against 11 keys, not causal, 2 heads")));
  EXPECT_THAT(choices, Contains(HasSubstr("2 sequences of 11 against 13 keys, 2 heads")));
}

TEST_F(CudnnAttention, TakesWorkspaceForThePlanAndForWhatTheGraphKeepsThere) {
  fake.workspace = 1000;
  Tensors tensors({2, 1, 8, false});
  run(tensors, tensors.forward());
  EXPECT_EQ(workspace.taken, 1024 + 256);  // lse: 22 tokens, 2 heads, 4 bytes
  context.is_deterministic = true;
  run(tensors, tensors.backward());
  EXPECT_EQ(workspace.taken, 1024 + 2 * 256);  // and row sums
  context.is_deterministic = false;
  run(tensors, tensors.backward());
  EXPECT_EQ(workspace.taken, 1024 + 2 * 256 + 1536);  // and dq: 22 tokens, 2 heads of 8, 4 bytes
}

TEST_F(CudnnAttention, CopiesLseOnlyWhereItIsNotDense) {
  for (const auto& [heads, copies] : {std::pair(1, std::int64_t{0}), std::pair(2, kSequences)}) {
    Tensors tensors({heads, 1, 8, false});
    for (const Operation& pass : {tensors.forward(), tensors.backward()}) {
      cuda_host::Machine::instance().clear_calls();
      run(tensors, pass);
      EXPECT_EQ(cuda_host::Machine::instance().launched.size(), copies) << heads;
    }
  }
}

/// The double's functions, of another release.
cuda::CudnnApi api_of(std::size_t version) {
  static std::size_t said;
  said = version;
  cuda::CudnnApi api = CudnnDouble::api();
  api.get_version = [] { return said; };
  return api;
}

TEST_F(CudnnAttention, ClearsWhereDqIsAddedUpForTheReleasesThatDoNot) {
  for (const auto& [version, times] : {std::pair(90'501, 1), std::pair(90'600, 0)}) {
    cuda::Attention released(api_of(version));
    Tensors tensors({2, 1, 8, false, 128, false});
    run(tensors, tensors.forward(), released);
    cuda_host::Machine::instance().clear_calls();
    run(tensors, tensors.backward(), released);
    EXPECT_EQ(cuda_host::Machine::instance().count_calls("cudaMemsetAsync"), times) << version;
  }
}

TEST_F(CudnnAttention, RefusesWhatAReleaseComputesWrongly) {
  Tensors odd({2, 1, 8, false}), corner({2, 1, 8, false, 128}), even({2, 1, 8, false, 128, false});
  const auto pass = [&](std::size_t version, Tensors& tensors, const Operation& operation) {
    cuda::Attention released(api_of(version));
    run(tensors, operation, released);
  };
  EXPECT_THAT([&] { pass(91'500, odd, odd.backward()); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("attention backward, 2 sequences of 11,"),
                                                HasSubstr("cuDNN 9.15.0 computes this incorrectly"),
                                                HasSubstr("9.15.1 or newer, or a multiple of 128 keys"))));
  EXPECT_THAT([&] { pass(90'501, corner, corner.forward()); },
              ThrowsMessage<MachineError>(HasSubstr("multiples of 64 queries and keys")));
  EXPECT_THAT([&] { pass(91'001, even, even.forward()); },
              ThrowsMessage<MachineError>(HasSubstr("use 9.10.2 or newer")));
  pass(91'501, odd, odd.backward());
  pass(91'500, odd, odd.forward());
  pass(90'501, even, even.backward());
  pass(90'600, corner, corner.forward());
}

TEST_F(CudnnAttention, NamesTheShapeThatCudnnRefusesAndTriesNothingElse) {
  fake.refuses_graphs = true;
  Tensors tensors({4, 2, 8, true});
  EXPECT_THAT([&] { run(tensors, tensors.forward()); },
              ThrowsMessage<MachineError>(AllOf(
                  HasSubstr("attention forward, 2 sequences of 11, 4 heads of 8, 2 key/value heads, rows of q 64"),
                  HasSubstr("cuDNN 9.19.0: no engine supports the graph"),
                  HasSubstr("engine 6: CUDNN_STATUS_NOT_SUPPORTED: no kernel for it"))));
  EXPECT_EQ(fake.num_executions, 0);
}

TEST_F(CudnnAttention, RefusesRowsThatItCannotReadSixteenBytesAtATime) {
  Tensors tensors({2, 2, 8, false});
  tensors.k = tensors.memory.columns(DataType::bf16, kTokens, 16, 20, 0);
  EXPECT_THAT(
      [&] { run(tensors, tensors.forward()); },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("operand 1, 40 bytes apart"), HasSubstr("to 16 bytes"))));
  tensors.k = tensors.memory.columns(DataType::bf16, kTokens, 16, 24, 4);
  EXPECT_THROW(run(tensors, tensors.forward()), std::invalid_argument);
  EXPECT_EQ(fake.num_plans, 0);
}

TEST_F(CudnnAttention, GivesBackWhatItMade) {
  const int before = fake.num_alive;
  {
    cuda::Attention own(CudnnDouble::api());
    Tensors tensors({2, 1, 8, false});
    run(tensors, tensors.forward(), own);
    run(tensors, tensors.backward(), own);
    EXPECT_GT(fake.num_alive, before);
  }
  EXPECT_EQ(fake.num_alive, before);
}

TEST_F(CudnnAttention, SaysWhatCudnnSaysOfAFailedCall) {
  cuda::CudnnApi api = CudnnDouble::api();
  api.create = [](cudnnHandle_t*) { return CUDNN_STATUS_NOT_SUPPORTED; };
  EXPECT_THAT([&] { cuda::Attention{api}; },
              ThrowsMessage<MachineError>(HasSubstr("cuDNN 9.19.0, making a handle: CUDNN_STATUS_NOT_SUPPORTED")));
}

}  // namespace
}  // namespace underlap::test
