// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "tests/cuda_host/device_code.hpp"

namespace underlap::cuda_host {
namespace {

void launch_on(cudaStream_t stream, std::function<void()> code) {
  launch_kernel({.thread_code = std::move(code)}, stream);
}

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
    launch_on(streams_[static_cast<std::size_t>(stream)], [this, value] { value_ = value; });
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

TEST_F(MachineOfQueues, GoesOnBesideAKernelThatWaitsForAnotherStream) {
  for (int i = 0; i < 20; ++i) {
    value_ = 0;
    int seen = 0;
    launch_on(streams_[0], [&] {
      while (value_ == 0) wait_for_others(10);
      seen = value_;
    });
    write(1, 7);
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(seen, 7);
  }
}

TEST_F(MachineOfQueues, KeepsTheClockGoingWhileAllThatIsLeftWaits) {
  unsigned long long waited = 0;
  launch_on(streams_[0], [&] {
    const unsigned long long start = global_timer();
    while (waited < 5'000'000) {
      wait_for_others(10);
      waited = global_timer() - start;
    }
  });
  EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  EXPECT_GE(waited, 5'000'000U);
}

// Streams of one hardware queue: what is behind an item begins only once that has.
TEST(HardwareQueue, HoldsUpAStreamBehindAnotherThatWaitsButNotBehindAKernelThatRuns) {
  Machine& machine = Machine::instance();
  for (const int connections : {1, 8}) {
    machine.reset(1, 3);
    machine.connections = connections;
    std::array<cudaStream_t, 2> streams{};
    for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    bool is_open = false;
    int value = 0;
    machine.enqueue(streams[0], {.ready = [&] { return is_open; }, .run = [] {}});
    launch_on(streams[1], [&] { value = 1; });
    machine.run_all_that_may();
    EXPECT_EQ(value, connections == 1 ? 0 : 1);
    is_open = true;
    machine.run_all_that_may();
    EXPECT_EQ(value, 1);

    launch_on(streams[0], [&] {
      while (value == 1) wait_for_others(10);
    });
    launch_on(streams[1], [&] { value = 2; });
    EXPECT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess) << "the first is on its way, and holds up nobody";
    EXPECT_EQ(value, 2);
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
  }
  machine.reset(1, 1);
}

TEST(SharedMemoryOfDevices, IsGoneOnceItIsGivenBackAndClosed) {
  Machine& machine = Machine::instance();
  machine.reset(1, 3);
  void* memory = nullptr;
  void* opened = nullptr;
  cudaMalloc(&memory, 64);
  cudaIpcMemHandle_t handle{};
  ASSERT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
  ASSERT_EQ(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  cudaFree(memory);
  EXPECT_EQ(machine.num_freed_while_open, 1);
  EXPECT_EQ(cudaIpcCloseMemHandle(opened), cudaSuccess);
  EXPECT_EQ(cudaIpcCloseMemHandle(opened), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, 0), cudaErrorInvalidValue);
  void* of_a_pool = nullptr;
  cudaMallocFromPoolAsync(&of_a_pool, 64, nullptr, nullptr);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, of_a_pool), cudaErrorInvalidValue) << "as a driver's";
  machine.reset(1, 1);
}

TEST_F(MachineOfQueues, SaysWhatAKernelThrew) {
  launch_on(streams_[0], [] { throw std::runtime_error("out of paper"); });
  EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaErrorLaunchFailure);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorLaunchFailure), "out of paper");
}

}  // namespace
}  // namespace underlap::cuda_host
