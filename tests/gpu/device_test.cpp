// SPDX-License-Identifier: Apache-2.0
// CudaDevice and NCCL on a real GPU, one rank. Skipped where there is none.
#include <gmock/gmock.h>

#include <optional>

#include "impl/device/cuda/cuda_device.hpp"
#include "impl/device/cuda/nccl/nccl_transport.hpp"
#include "impl/device/cuda/requirements.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "platform/errors.hpp"
#include "tests/impl/device/device_testing.hpp"

namespace underlap::cuda {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing_support::read;

class OneGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      check_cuda_machine(1);
      api_ = NcclApi::load();
    } catch (const MachineError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  NcclApi api_;
  ThreadControlPlane control_{std::chrono::seconds(30)};
};

TEST_F(OneGpu, RunsOperationsUploadsTransfersAndMarks) {
  NcclTransport transport(api_, control_, {.poll_interval = std::chrono::milliseconds(10)});
  CudaDevice device(transport, {});
  const Stream compute = device.create_stream("compute");
  const Communicator dp = device.declare("dp", {{0}, 0}, {.sms = 2, .priority = Priority::high});
  const Tensor x = device.allocate("x", DataType::f32, 4);
  const Tensor y = device.allocate("y", DataType::f32, 4);
  device.begin();
  EXPECT_THAT(read(device, x), Each(testing::IsNan()));
  const std::array<float, 4> values{1, 2, 3, 4};
  for (int step = 0; step < 5; ++step) {
    device.upload(compute, {}, flat(x), std::as_bytes(std::span(values)));
    device.launch(compute, {}, kernels::scale(flat(x), 2));
    device.wait(dp.stream, device.record(compute));
    const Transfer sum{.collective = Collective::all_reduce, .input = flat(x), .output = flat(y)};
    device.communicate(dp, {}, {&sum, 1});
    device.wait(compute, device.record(dp.stream));
    device.mark(compute, 0, step);
  }
  device.synchronize();
  EXPECT_THAT(read(device, y), ElementsAre(2, 4, 6, 8));
  const std::vector<Mark> marks = device.take_marks();
  ASSERT_EQ(marks.size(), 5U);
  for (std::size_t i = 1; i < marks.size(); ++i) EXPECT_GT(marks[i].time_ns, marks[i - 1].time_ns);
}

TEST_F(OneGpu, SaysWhichTensorFoundNoMemory) {
  NcclTransport transport(api_, control_, {.poll_interval = std::chrono::milliseconds(0)});
  CudaDevice device(transport, {});
  device.allocate("small", DataType::f32, 1000);
  try {
    device.allocate("huge", DataType::f32, std::int64_t{1} << 40);
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("huge"));
  }
}

}  // namespace
}  // namespace underlap::cuda
