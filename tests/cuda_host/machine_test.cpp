// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <stdexcept>

#include "tests/cuda_host/device_code.hpp"

namespace underlap::cuda_host {
namespace {

class MachineOfQueues : public ::testing::Test {
 protected:
  MachineOfQueues() {
    Machine::instance().reset(1, 3);
    for (cudaStream_t& stream : streams_) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  }
  ~MachineOfQueues() override {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  void write(int stream, int value) {
    launch_kernel(1, 1, 0, streams_[static_cast<std::size_t>(stream)], [this, value] { value_ = value; });
  }

  std::array<cudaStream_t, 2> streams_{};
  int value_ = 0;
};

TEST_F(MachineOfQueues, RunsNothingBeforeSomebodyWaits) {
  write(0, 1);
  EXPECT_EQ(value_, 0);
  EXPECT_EQ(cudaStreamQuery(streams_[0]), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  EXPECT_EQ(value_, 1);
}

TEST_F(MachineOfQueues, TakesStreamsInAnyOrderUnlessAnEventOrdersThem) {
  std::set<int> last;
  for (int i = 0; i < 20; ++i) {
    write(0, 1);
    write(1, 2);
    for (cudaStream_t stream : streams_) cudaStreamSynchronize(stream);
    last.insert(value_);
  }
  EXPECT_EQ(last, (std::set<int>{1, 2}));

  last.clear();
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  for (int i = 0; i < 20; ++i) {
    write(0, 1);
    cudaEventRecord(event, streams_[0]);
    cudaStreamWaitEvent(streams_[1], event, 0);
    cudaEventRecord(event, streams_[1]);  // what was waited for is the record before this one
    write(1, 2);
    for (cudaStream_t stream : streams_) cudaStreamSynchronize(stream);
    last.insert(value_);
  }
  cudaEventDestroy(event);
  EXPECT_EQ(last, (std::set<int>{2}));
}

TEST_F(MachineOfQueues, SaysWhatAKernelThrew) {
  launch_kernel(1, 1, 0, streams_[0], [] { throw std::runtime_error("out of paper"); });
  EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaErrorLaunchFailure);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorLaunchFailure), "out of paper");
}

}  // namespace
}  // namespace underlap::cuda_host
