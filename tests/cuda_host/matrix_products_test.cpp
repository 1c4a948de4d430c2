// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/matrix_products.hpp"

#include "kernels/cuda/implementations.hpp"
#include "platform/errors.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/cuda_host/machine.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::CublasLtDouble;
using kernels::GemmCall;

constexpr std::int64_t kM = 3, kN = 5, kK = 4;
constexpr std::int64_t kMebibyte = 1 << 20;
// Each on a multiple of 16 bytes, the first of its four.
alignas(16) constexpr float kInverseScales[16] = {0.5F, 0, 0, 0, 0.25F, 0, 0, 0, 2.0F, 0, 0, 0, 4.0F};

class CountingWorkspace final : public Workspace {
 public:
  std::byte* take(std::int64_t bytes) override {
    taken.push_back(bytes);
    if (memory == nullptr)
      memory.reset(static_cast<std::byte*>(std::aligned_alloc(256, static_cast<std::size_t>(bytes))));
    return memory.get();
  }
  std::vector<std::int64_t> taken;
  std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, std::free};
};

class Products : public ::testing::Test {
 protected:
  Products() {
    fake.reset();
    cuda_host::Machine::instance().reset(1, 5);
    cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking);
    context.workspace = &workspace;
  }
  ~Products() override { cudaStreamDestroy(context.stream); }

  // `offset` elements of the type past a multiple of 256 bytes.
  BoundView view(DataType type, std::int64_t rows, std::int64_t cols, std::int64_t width = 0, std::int64_t offset = 0) {
    width = std::max(width, cols);
    const auto bytes = static_cast<std::size_t>((rows * width + offset) * size_of(type) + 255) / 256 * 256;
    memory.emplace_back(static_cast<std::byte*>(std::aligned_alloc(256, bytes)), std::free);
    return {.data = memory.back().get() + offset * size_of(type),
            .dtype = type,
            .rows = rows,
            .cols = cols,
            .leading_dimension = width};
  }

  GemmCall fprop(std::int64_t k = kK) {
    return {.a = view(DataType::bf16, kM, k),
            .b = view(DataType::bf16, kN, k),
            .c = view(DataType::bf16, kM, kN),
            .transpose_b = true};
  }
  GemmCall wgrad(DataType type) {
    return {.a = view(DataType::bf16, kK, kM),
            .b = view(DataType::bf16, kK, kN),
            .c = view(type, kM, kN),
            .transpose_a = true,
            .accumulate = true};
  }

  GemmCall fp8(DataType a, DataType b) {
    return {.a = view(a, 24, 16),
            .b = view(b, 8, 16),
            .c = view(DataType::bf16, 24, 8),
            .a_inverse_scale = kInverseScales,
            .b_inverse_scale = kInverseScales + 4,
            .transpose_b = true};
  }

  CublasLtDouble& fake = CublasLtDouble::instance();
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> memory;
  CountingWorkspace workspace;
  LaunchContext context;
  MatrixProducts products{CublasLtDouble::api()};
};

TEST_F(Products, AreAskedForAsTransposedColumns) {
  const GemmCall call{.a = view(DataType::bf16, kM, kK, 9),
                      .b = view(DataType::bf16, kN, kK, 10),
                      .c = view(DataType::bf16, kM, kN, 11),
                      .transpose_b = true};
  products.enqueue(call, context);
  ASSERT_EQ(fake.products.size(), 1U);
  const CublasLtDouble::Product& product = fake.products.front();
  // y^T [N, M] = op(w's columns) [N, K] x^T [K, M].
  EXPECT_EQ(product.layouts[0], (CublasLtDouble::Layout{CUDA_R_16BF, kK, kN, 10}));
  EXPECT_EQ(product.layouts[1], (CublasLtDouble::Layout{CUDA_R_16BF, kK, kM, 9}));
  EXPECT_EQ(product.layouts[2], (CublasLtDouble::Layout{CUDA_R_16BF, kN, kM, 11}));
  EXPECT_EQ(product.layouts[3], product.layouts[2]);
  EXPECT_EQ(
      product.operation,
      (CublasLtDouble::Operation{
          .compute = CUBLAS_COMPUTE_32F, .scale = CUDA_R_32F, .transpose_a = CUBLAS_OP_T, .transpose_b = CUBLAS_OP_N}));
  EXPECT_THAT(product.pointers, ElementsAre(call.b.data, call.a.data, call.c.data, call.c.data));
  EXPECT_EQ(product.alpha, 1);
  EXPECT_EQ(product.beta, 0);
  EXPECT_EQ(product.stream, context.stream);
}

TEST_F(Products, AccumulateIntoEitherTypeWithAFactorOfOne) {
  products.enqueue(wgrad(DataType::f32), context);
  products.enqueue(wgrad(DataType::bf16), context);
  ASSERT_EQ(fake.products.size(), 2U);
  for (const CublasLtDouble::Product& product : fake.products) {
    EXPECT_EQ(product.beta, 1);
    EXPECT_EQ(product.operation.transpose_a, CUBLAS_OP_N);
    EXPECT_EQ(product.operation.transpose_b, CUBLAS_OP_T);
    EXPECT_EQ(product.operation.compute, CUBLAS_COMPUTE_32F);
    EXPECT_EQ(product.pointers[2], product.pointers[3]);
  }
  EXPECT_EQ(fake.products[0].layouts[3].type, CUDA_R_32F);
  EXPECT_EQ(fake.products[1].layouts[3].type, CUDA_R_16BF);
}

TEST_F(Products, OfFp8GiveEachOperandItsOwnScale) {
  const GemmCall call = fp8(DataType::f8e5m2, DataType::f8e4m3);
  products.enqueue(call, context);
  ASSERT_EQ(fake.products.size(), 1U);
  const CublasLtDouble::Product& product = fake.products.front();
  // Both with their columns along the summed dimension; b comes first.
  EXPECT_EQ(product.layouts[0], (CublasLtDouble::Layout{CUDA_R_8F_E4M3, 16, 8, 16}));
  EXPECT_EQ(product.layouts[1], (CublasLtDouble::Layout{CUDA_R_8F_E5M2, 16, 24, 16}));
  EXPECT_EQ(product.operation.transpose_a, CUBLAS_OP_T);
  EXPECT_EQ(product.operation.transpose_b, CUBLAS_OP_N);
  EXPECT_EQ(product.operation.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(product.operation.scale_a, call.b_inverse_scale);
  EXPECT_EQ(product.operation.scale_b, call.a_inverse_scale);
  EXPECT_THAT(products.choices()[0].product, HasSubstr("[24, 16] f8e5m2 [8, 16] f8e4m3^T"));
}

TEST_F(Products, OfFp8ArePreparedOnceAndGivenTheScalesOfEachCall) {
  GemmCall call = fp8(DataType::f8e4m3, DataType::f8e4m3);
  products.enqueue(call, context);
  call.a_inverse_scale = kInverseScales + 8;
  call.b_inverse_scale = kInverseScales + 12;
  products.enqueue(call, context);
  EXPECT_EQ(fake.questions.size(), 1U);
  EXPECT_EQ(fake.products[0].operation.scale_a, kInverseScales + 4);
  EXPECT_EQ(fake.products[1].operation.scale_a, kInverseScales + 12);
  EXPECT_EQ(fake.products[1].operation.scale_b, kInverseScales + 8);
  products.enqueue(fp8(DataType::f8e5m2, DataType::f8e4m3), context);
  products.enqueue(fp8(DataType::f8e4m3, DataType::f8e5m2), context);
  EXPECT_EQ(fake.questions.size(), 3U) << "other types, other products";
}

TEST_F(Products, OfFp8SumFastOnlyWithoutTheSplitAccumulator) {
  GemmCall call = fp8(DataType::f8e4m3, DataType::f8e4m3);
  products.enqueue(call, context);
  call.use_split_accumulator = false;
  products.enqueue(call, context);
  EXPECT_EQ(fake.questions.size(), 2U) << "another accumulation, another product";
  EXPECT_EQ(fake.products[0].operation.fast_accumulation, 0);
  EXPECT_EQ(fake.products[1].operation.fast_accumulation, 1);
  GemmCall wide = fprop();
  wide.use_split_accumulator = false;
  products.enqueue(wide, context);
  EXPECT_EQ(fake.products[2].operation.fast_accumulation, 0) << "of bf16 there is no other";
}

TEST_F(Products, OfFp8AreRefusedOnAGpuThatCannotMultiplyThem) {
  cuda_host::Machine::instance().compute_capability = 80;
  MatrixProducts on_ampere(CublasLtDouble::api());
  EXPECT_THAT([&] { on_ampere.enqueue(fp8(DataType::f8e4m3, DataType::f8e4m3), context); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("8.9 or newer, this one has 8.0"), HasSubstr("bf16_mixed"))));
  EXPECT_NO_THROW(on_ampere.enqueue(fprop(), context));
  EXPECT_EQ(on_ampere.workspace_bytes(), 4 * kMebibyte);
  ASSERT_EQ(cudaStreamSynchronize(context.stream), cudaSuccess);
  cuda_host::Machine::instance().compute_capability = 89;
  MatrixProducts on_ada(CublasLtDouble::api());
  EXPECT_NO_THROW(on_ada.enqueue(fp8(DataType::f8e4m3, DataType::f8e4m3), context));
}

TEST_F(Products, PrepareOnceForEachKindAndThenOnlyMultiply) {
  const GemmCall call = fprop();
  products.enqueue(call, context);
  fake.calls.clear();
  products.enqueue(call, context);
  products.enqueue(fprop(), context);  // other memory, same kind
  EXPECT_THAT(fake.calls, ElementsAre("matmul", "matmul"));
  EXPECT_EQ(fake.questions.size(), 1U);
}

TEST_F(Products, AskAgainForWhateverMayChangeTheAnswer) {
  const GemmCall first = fprop();
  std::vector<GemmCall> others(7, first);
  others[0].a = view(DataType::bf16, kM + 1, kK);
  others[0].c = view(DataType::bf16, kM + 1, kN);
  others[1].a = view(DataType::bf16, kM, kK, kK + 1);
  others[2].b = view(DataType::bf16, kN, kK, kK + 1);
  others[3].c = view(DataType::bf16, kM, kN, kN + 1);
  others[4].c = view(DataType::f32, kM, kN);
  others[5].accumulate = true;
  others[6].b = view(DataType::bf16, kN, kK, kK, 1);
  products.enqueue(first, context);
  for (const GemmCall& call : others) products.enqueue(call, context);
  context.sm_budget = 12;
  products.enqueue(first, context);
  EXPECT_EQ(fake.questions.size(), 1 + others.size() + 1);
  EXPECT_EQ(products.choices().size(), fake.questions.size());
}

TEST_F(Products, PromiseTheAlignmentThatEachPointerHas) {
  products.enqueue({.a = view(DataType::bf16, kM, kK, kK, 8),
                    .b = view(DataType::bf16, kN, kK, kK, 1),
                    .c = view(DataType::f32, kM, kN, kN, 3),
                    .transpose_b = true},
                   context);
  products.enqueue(fprop(), context);
  EXPECT_THAT(fake.questions[0].preference.alignment, ElementsAre(2, 16, 4, 4));
  EXPECT_THAT(fake.questions[1].preference.alignment, ElementsAre(256, 256, 256, 256));
}

TEST_F(Products, PassTheBudgetOnlyWhereThereIsOne) {
  const GemmCall call = fprop();
  products.enqueue(call, context);
  context.sm_budget = 100;
  products.enqueue(call, context);
  EXPECT_EQ(fake.questions[0].operation.sm_count_target, 0);
  EXPECT_EQ(fake.questions[1].operation.sm_count_target, 100);
  EXPECT_EQ(fake.products[1].operation.sm_count_target, 100);
}

TEST_F(Products, WorkInTheStreamsWorkspace) {
  EXPECT_EQ(products.workspace_bytes(), 32 * kMebibyte);
  products.enqueue(fprop(), context);
  EXPECT_THAT(workspace.taken, ElementsAre(32 * kMebibyte));
  EXPECT_EQ(fake.products[0].workspace, workspace.memory.get());
  EXPECT_EQ(fake.products[0].workspace_bytes, static_cast<std::size_t>(32 * kMebibyte));
  EXPECT_EQ(fake.questions[0].preference.max_workspace, static_cast<std::uint64_t>(32 * kMebibyte));
  ASSERT_EQ(cudaStreamSynchronize(context.stream), cudaSuccess);
}

TEST_F(Products, TakeTheFirstAlgorithmThatIsSupportedAndFits) {
  fake.reset({{.id = 1, .state = CUBLAS_STATUS_NOT_SUPPORTED},
              {.id = 2, .workspace = 33 * kMebibyte},
              {.id = 3, .reduction_scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
              {.id = 4}});
  products.enqueue(fprop(), context);
  EXPECT_EQ(fake.products[0].algorithm, 3U);
  ASSERT_EQ(products.choices().size(), 1U);
  const ProductChoice choice = products.choices()[0];
  EXPECT_EQ(choice.algorithm, 3);
  EXPECT_EQ(choice.split_k, 3);
  EXPECT_EQ(choice.cluster_shape, 0);
  EXPECT_THAT(to_string(choice),
              AllOf(HasSubstr("[3, 5] bf16 = [3, 4] [5, 4]^T"), HasSubstr("algorithm 3"), HasSubstr("1024 bytes")));
}

// Parts of 8, whole stages, three of which are less than k; parts of 9 are not whole; three parts of 8 are all of it.
TEST_F(Products, TakeNoAlgorithmThatLeavesOutTheEndOfK) {
  const CublasLtDouble::Candidate split{.id = 66, .reduction_scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE};
  const auto chosen_for = [&](std::int64_t k) {
    fake.products.clear();
    MatrixProducts asked(CublasLtDouble::api());
    asked.enqueue(fprop(k), context);
    EXPECT_EQ(cudaStreamSynchronize(context.stream), cudaSuccess);
    return fake.products[0].algorithm;
  };
  fake.reset({split, {.id = 4}});
  EXPECT_EQ(chosen_for(26), 4U);
  EXPECT_EQ(chosen_for(28), 66U);
  EXPECT_EQ(chosen_for(24), 66U);
  fake.reset({split, {.id = 5, .workspace = 33 * kMebibyte}, {.id = 66}});
  EXPECT_EQ(chosen_for(26), 66U) << "without a split";
  EXPECT_EQ(fake.questions.size(), 1U);
}

TEST_F(Products, AskWithoutASplitWhereEverySplitLeavesSomethingOut) {
  const CublasLtDouble::Candidate split{.id = 66, .reduction_scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE};
  std::vector<CublasLtDouble::Candidate> proposed(8, split);
  proposed.push_back({.id = 9});
  fake.reset(proposed);
  products.enqueue(fprop(26), context);
  EXPECT_EQ(fake.products[0].algorithm, 9U);
  EXPECT_EQ(fake.questions.back().preference.reduction_schemes, CUBLASLT_REDUCTION_SCHEME_NONE);
  ASSERT_EQ(cudaStreamSynchronize(context.stream), cudaSuccess);
}

TEST_F(Products, TellOfAReleaseThatIsWrongBesideOthersOnThisGpu) {
  EXPECT_THAT(MatrixProducts(CublasLtDouble::api()).notices(), IsEmpty());
  cuda_host::Machine::instance().compute_capability = 100;
  EXPECT_THAT(MatrixProducts(CublasLtDouble::api()).notices(),
              ElementsAre(HasSubstr("cuBLASLt 13.1.0 may compute wrong products")));
  CublasLtApi mended = CublasLtDouble::api();
  mended.get_version = []() -> std::size_t { return 130'300; };
  EXPECT_THAT(MatrixProducts(mended).notices(), IsEmpty());
}

TEST_F(Products, AdmitNoSumsInTheTypeOfTheResult) {
  fake.reset({{.id = 1, .reduction_scheme = CUBLASLT_REDUCTION_SCHEME_INPLACE},
              {.id = 2, .reduction_scheme = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE},
              {.id = 3}});
  products.enqueue(wgrad(DataType::bf16), context);
  EXPECT_EQ(fake.products[0].algorithm, 3U);
}

TEST_F(Products, NameTheProductThatHasNoAlgorithm) {
  fake.reset({{.id = 1, .state = CUBLAS_STATUS_NOT_SUPPORTED}});
  EXPECT_THAT([&] { products.enqueue(fprop(), context); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("cuBLASLt 13.1.0 has no algorithm for [3, 5] bf16"),
                                                HasSubstr("all SMs"), HasSubstr("33554432 bytes"))));
  fake.reset(std::vector<CublasLtDouble::Candidate>{});
  EXPECT_THAT([&] { products.enqueue(fprop(), context); },
              ThrowsMessage<MachineError>(HasSubstr("CUBLAS_STATUS_NOT_SUPPORTED")));
  EXPECT_TRUE(fake.products.empty());
}

TEST_F(Products, SayWhatCublasSaysOfAFailedCall) {
  CublasLtApi api = CublasLtDouble::api();
  api.create = [](cublasLtHandle_t*) { return CUBLAS_STATUS_INVALID_VALUE; };
  EXPECT_THAT([&] { MatrixProducts{api}; },
              ThrowsMessage<MachineError>(
                  AllOf(HasSubstr("cuBLASLt 13.1.0: CUBLAS_STATUS_INVALID_VALUE"), HasSubstr("matrix_products.cpp"))));
}

TEST_F(Products, GiveBackWhatTheyMade) {
  const int before = fake.num_alive;
  {
    MatrixProducts own(CublasLtDouble::api());
    own.enqueue(fprop(), context);
    own.enqueue(wgrad(DataType::f32), context);
    EXPECT_EQ(fake.num_alive, before + 1 + 2 * 4);  // a handle; an operation and three layouts each, no preference
  }
  EXPECT_EQ(fake.num_alive, before);
}

TEST_F(Products, ArePartOfTheContext) {
  const BoundView x = view(DataType::bf16, kM, kK), w = view(DataType::bf16, kN, kK), y = view(DataType::bf16, kM, kN);
  const std::vector<BoundView> views{x, w, y};
  EXPECT_THROW(cuda_implementation(intern("gemm_fprop"))(Arguments(views, nullptr), context), std::invalid_argument);
}

// Without a device this is all that can be asked of the library itself.
TEST(CublasLt, IsFoundWhereTheToolkitHasIt) {
  try {
    EXPECT_THAT(CublasLtApi::load().version(), ::testing::MatchesRegex("1[0-9]\\.[0-9]+\\.[0-9]+"));
  } catch (const MachineError& error) {
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace underlap::cuda
