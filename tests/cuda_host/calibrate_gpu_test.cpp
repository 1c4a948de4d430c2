// SPDX-License-Identifier: Apache-2.0
// The calibration's device part on the machine of queues: that it runs. Its times mean nothing.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "bench/calibrate/cuda_gpu.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "tests/cuda_host/machine.hpp"

namespace underlap::bench {
namespace {

using testing::Each;
using testing::SizeIs;

class CalibratedGpu : public testing::Test {
 protected:
  CalibratedGpu() { cuda_host::Machine::instance().reset(1, 11); }

  CudaGpuOptions small_{.libraries = {},
                        .workspace_bytes = 1 << 10,
                        .rotated_bytes = 1 << 12,
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

TEST_F(CalibratedGpu, RunsOperationsThroughTheirForms) {
  CudaGpu gpu(small_);
  EXPECT_THAT(gpu.work_us(small_work(), 4), SizeIs(4));
  Work unknown = small_work();
  unknown.operation = Operation(intern("of_no_form"), nullptr, {}, {});
  EXPECT_THROW(gpu.work_us(unknown, 1), std::invalid_argument);
}

TEST_F(CalibratedGpu, GrowsTheWorkspaceToWhatAnOperationWants) {
  CudaGpu gpu(small_);
  // Two numbers of 4 bytes a token: more than the KiB that is there.
  const auto tensor = [](std::uint32_t id, DataType dtype, std::int64_t rows, std::int64_t cols) {
    return matrix(Tensor{.id = id, .dtype = dtype, .elements = rows * cols}, rows, cols);
  };
  const Work embedding{"wgrad",
                       kernels::embedding_wgrad(tensor(1, DataType::i32, 1, 512), tensor(2, DataType::bf16, 512, 8),
                                                tensor(3, DataType::f32, 16, 8), tensor(4, DataType::f32, 512, 8))};
  EXPECT_THAT(gpu.work_us(embedding, 2), SizeIs(2));
}

TEST_F(CalibratedGpu, WithoutTheLibrariesThatTrainWithItNothingIsTimed) {
  CudaGpu gpu(small_);
  EXPECT_THROW(gpu.work_us(gemm_work(8, 8, 8), 1), std::invalid_argument);
  EXPECT_THROW(gpu.work_beside_us(attention_work(16, 1, 1, 64, false), {.sms = 1}, 1), std::invalid_argument);
}

TEST_F(CalibratedGpu, RunsThemBesideCommunication) {
  CudaGpu gpu(small_);
  EXPECT_THAT(gpu.work_beside_us(small_work(), {.sms = 1, .gb_per_s = 1}, 1), SizeIs(1));
  EXPECT_THAT(gpu.work_beside_us(small_work(), {.sms = 1}, 1), SizeIs(1));
  EXPECT_THAT(gpu.work_beside_us(small_work(), {.copy_engine = true}, 1), SizeIs(1));
}

TEST_F(CalibratedGpu, ProbesQueues) {
  CudaGpu gpu(small_);
  for (const char* behind : {"nothing", "kernel", "wait", "record"})
    for (const bool same_queue : {false, true})
      EXPECT_THAT(gpu.held(behind, same_queue, 2), Each(testing::AllOf(testing::Ge(-0.5), testing::Le(1.5))));
}

}  // namespace
}  // namespace underlap::bench
