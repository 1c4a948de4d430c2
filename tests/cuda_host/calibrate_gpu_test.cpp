// SPDX-License-Identifier: Apache-2.0
// The calibration's device part on the machine of queues: that it runs. Its times mean nothing.
#include "kernels/bf16.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/errors.hpp"
#include "research/calibrate/cuda_gpu.hpp"
#include "research/calibrate/rates/cublaslt_alone.hpp"
#include "research/calibrate/rates/operation_works.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/cuda_host/machine.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

class CalibratedGpu : public testing::Test {
 protected:
  CalibratedGpu() { cuda_host::Machine::instance().reset(1, 11); }

  CudaGpuOptions small_{.libraries = {},
                        .workspace_bytes = 1 << 10,
                        .rotated_bytes = 1 << 12,
                        .together_us = 0,
                        .calls = 5,
                        .probe_us = 2,
                        .message_bytes = 1 << 12};
};

Work small_work() {
  const auto tensor = [](std::uint32_t id) {
    return matrix(Tensor{.id = id, .dtype = DataType::bf16, .elements = 64}, 8, 8);
  };
  return {"small", kernels::residual_add(tensor(1), tensor(2), tensor(3))};
}

TEST_F(CalibratedGpu, TimesCallsKernelsAndCopies) {
  CudaGpu gpu(small_);
  for (const HostCall call : {HostCall::launch, HostCall::record, HostCall::wait, HostCall::copy})
    EXPECT_THAT(gpu.host_call_us(call, 2), SizeIs(2));
  EXPECT_THAT(gpu.empty_kernel_us(2), SizeIs(2));
  EXPECT_THAT(gpu.copy_us(1 << 10, 3), SizeIs(3));
  EXPECT_EQ(gpu.num_sms(), 4);
  EXPECT_EQ(gpu.machine().at(0).second, "host threads");
}

TEST_F(CalibratedGpu, RunsOperationsThroughTheirImplementation) {
  CudaGpu gpu(small_);
  EXPECT_THAT(gpu.work_us(small_work(), 4), SizeIs(4));
  Work unknown = small_work();
  unknown.operation = Operation(intern("of_no_implementation"), nullptr, {}, {});
  EXPECT_THROW(gpu.work_us(unknown, 1), std::invalid_argument);
}

TEST_F(CalibratedGpu, GrowsTheWorkspaceToWhatAnOperationWants) {
  CudaGpu gpu(small_);
  // Two numbers of 4 bytes a token: more than the KiB that is there.
  const auto tensor = [](std::uint32_t id, DataType dtype, std::int64_t rows, std::int64_t cols) {
    return matrix(Tensor{.id = id, .dtype = dtype, .elements = rows * cols}, rows, cols);
  };
  Work embedding{"wgrad", kernels::embedding_wgrad(tensor(1, DataType::i32, 1, 512), tensor(2, DataType::bf16, 512, 8),
                                                   tensor(3, DataType::f32, 16, 8), tensor(4, DataType::f32, 512, 8))};
  embedding.num_tokens = 16;
  EXPECT_THAT(gpu.work_us(embedding, 2), SizeIs(2));
}

// A vocabulary of 16; heads and features in whole vectors of 16 bytes.
constexpr LayerShape kSmallLayer{.sequence = 8,
                                 .hidden = 16,
                                 .heads = 2,
                                 .groups = 1,
                                 .head_size = 8,
                                 .ffn = 16,
                                 .vocabulary = 16,
                                 .parameters = 256};

TEST_F(CalibratedGpu, RunsEveryOperationOfALayerOnWhatItWants) {
  CudaGpu gpu(small_);
  int num_run = 0;
  for (const Work& work : operation_works(kSmallLayer)) {
    const std::string name(name_of(work.operation.name()));
    SCOPED_TRACE(name + "/" + work.shape);
    if (name.starts_with("gemm") || is_attention(work.operation)) continue;  // without their libraries: below
    EXPECT_NO_THROW(EXPECT_THAT(gpu.work_us(work, 1), SizeIs(1)));
    ++num_run;
  }
  EXPECT_GT(num_run, 20);
}

TEST_F(CalibratedGpu, RefusesATimeTakenOnTokensOutsideTheVocabulary) {
  CudaGpu gpu(small_);
  for (Work work : operation_works(kSmallLayer)) {
    if (name_of(work.operation.name()) != "embedding_forward") continue;
    work.num_tokens = 1 << 20;
    EXPECT_THROW(gpu.work_us(work, 1), MachineError);
  }
}

TEST_F(CalibratedGpu, PreparesWhatAnOperationReads) {
  CudaGpu gpu(small_);
  Work work = small_work();
  work.prepare = {kernels::fill(work.operation.uses()[0].view, 3), kernels::fill(work.operation.uses()[1].view, 4)};
  float seen = 0;
  gpu.implementation_us(
      work,
      [&](const Arguments& views, cuda::LaunchContext& context) {
        cudaStreamSynchronize(context.stream);
        seen = static_cast<float>(views[0].as<bf16>()[63]) + static_cast<float>(views[1].as<bf16>()[0]);
      },
      1);
  EXPECT_EQ(seen, 7);
}

TEST_F(CalibratedGpu, TimesShortWorkManyTimesInARowWhereItIsAskedTo) {
  small_.together_us = 1e9;  // longer than the most that is enqueued at once
  CudaGpu gpu(small_);
  int calls = 0;
  const auto us = gpu.implementation_us(
      small_work(), [&](const Arguments&, cuda::LaunchContext&) { ++calls; }, 2);
  EXPECT_THAT(us, SizeIs(2));
  EXPECT_EQ(calls, 4 + 5 * 64);  // to learn how long one takes, then; of each three that are not counted
}

TEST_F(CalibratedGpu, CublasLtAloneFormsTheProductsThatTheImplementationsForm) {
  auto& library = cuda_host::CublasLtDouble::instance();
  library.reset();
  cuda::MatrixProducts products(cuda_host::CublasLtDouble::api());
  small_.libraries.products = &products;
  CudaGpu gpu(small_);
  for (const Work& work : operation_works(kSmallLayer)) {
    const NameId operation = work.operation.name();
    if (!name_of(operation).starts_with("gemm")) continue;
    SCOPED_TRACE(std::string(name_of(operation)) + "/" + work.shape);
    library.products.clear();
    gpu.work_us(work, 1);
    std::unique_ptr<CublasLtAlone> alone;
    gpu.implementation_us(
        work,
        [&](const Arguments& views, cuda::LaunchContext& context) {
          const kernels::GemmCall call = product_of(operation, views);
          if (!alone)
            alone = std::make_unique<CublasLtAlone>(cuda_host::CublasLtDouble::api(), call, products.workspace_bytes());
          alone->enqueue(call, context);
        },
        1);
    const auto& formed = library.products;
    ASSERT_THAT(formed, SizeIs(8));  // three and one of each
    auto alone_operation = formed[7].operation, form_operation = formed[3].operation;
    EXPECT_EQ(alone_operation.scale_a == nullptr, form_operation.scale_a == nullptr);
    for (auto* product : {&alone_operation, &form_operation})
      product->scale_a = product->scale_b = nullptr;  // each has memory of its own
    EXPECT_EQ(alone_operation, form_operation);
    EXPECT_EQ(formed[7].layouts, formed[3].layouts);
    EXPECT_EQ(formed[7].beta, formed[3].beta);
    EXPECT_EQ(formed[7].workspace_bytes, formed[3].workspace_bytes);
    EXPECT_EQ(library.questions.back().preference.reduction_schemes, CUBLASLT_REDUCTION_SCHEME_MASK);
  }
}

TEST_F(CalibratedGpu, CarriesCollectivesOverTheLink) {
  CudaGpu gpu(small_);
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
    EXPECT_THAT(gpu.collective_us(collective, {.sms = 1, .gb_per_s = 1}, 1 << 10, 2), SizeIs(2));
}

TEST_F(CalibratedGpu, WithoutTheLibrariesThatTrainWithItNothingIsTimed) {
  CudaGpu gpu(small_);
  EXPECT_THROW(gpu.work_us(gemm_work(8, 8, 8), 1), std::invalid_argument);
  EXPECT_THROW(gpu.work_beside_us(attention_work(16, 1, 1, 64, false), {.sms = 1}, 1), std::invalid_argument);
}

TEST_F(CalibratedGpu, RunsThemBesideCommunication) {
  CudaGpu gpu(small_);
  EXPECT_THAT(gpu.work_beside_us(small_work(), {.sms = 1, .gb_per_s = 1}, 1).us, SizeIs(1));
  EXPECT_THAT(gpu.work_beside_us(small_work(), {.sms = 1}, 1).us, SizeIs(1));
  cuda_host::Machine::instance().set_driver(13000);
  EXPECT_THROW(gpu.work_beside_us(small_work(), {.copy_engine = true}, 1), MachineError);
  if (CUDART_VERSION < 12080) return;  // built so, nothing can be asked of any driver
  cuda_host::Machine::instance().set_driver(13010);
  EXPECT_THAT(gpu.work_beside_us(small_work(), {.copy_engine = true}, 1).us, SizeIs(1));
}

TEST_F(CalibratedGpu, ProbesQueues) {
  CudaGpu gpu(small_);
  for (const char* behind : {"nothing", "kernel", "wait", "record"})
    for (const bool same_queue : {false, true})
      EXPECT_THAT(gpu.held(behind, same_queue, 2), Each(AllOf(testing::Ge(-0.5), testing::Le(1.5))));
}

}  // namespace
}  // namespace underlap::bench
