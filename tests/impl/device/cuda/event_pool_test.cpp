// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/event_pool.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda {
namespace {

class Events : public testing::Test {
 protected:
  Events() { cuda_host::Machine::instance().reset(1, 5); }

  Event record(int stream) {
    enqueue(stream);
    return pool_.record(streams_[stream].get(), static_cast<std::uint32_t>(stream));
  }
  void enqueue(int stream) {
    cuda_host::Machine::instance().enqueue(streams_[stream].get(), {.ready = {}, .run = [] {}});
  }
  void drain(int stream) { cudaStreamSynchronize(streams_[stream].get()); }

  StreamHandle streams_[2] = {make_stream(0), make_stream(0)};
  EventPool pool_;
};

TEST_F(Events, AreFreshAtEachRecord) {
  std::set<CUevent_st*> handles;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 5; ++i) {
    const Event event = record(0);
    ids.insert(event.id);
    handles.insert(pool_.find(event));
  }
  EXPECT_EQ(ids.size(), 5U);
  EXPECT_FALSE(ids.contains(0)) << "0 is the moment that has always passed";
  EXPECT_EQ(handles.size(), 5U);
  EXPECT_EQ(pool_.find(Event{}), nullptr);
}

TEST_F(Events, GiveTheirHandlesBackTwoMarksAfterTheyPassed) {
  const Event first = record(0);
  CUevent_st* const handle = pool_.find(first);
  drain(0);
  pool_.close_generation();
  EXPECT_EQ(pool_.find(first), handle);
  pool_.close_generation();
  EXPECT_EQ(pool_.find(first), handle);
  pool_.close_generation();
  EXPECT_EQ(pool_.find(first), nullptr) << "waiting for it is waiting for nothing";
  EXPECT_EQ(pool_.find(record(0)), handle);
}

TEST_F(Events, KeepTheirHandlesHoweverManyMarksGoByWhileOneHasNotPassed) {
  bool is_open = false;
  cuda_host::Machine::instance().enqueue(streams_[0].get(), {.ready = [&] { return is_open; }, .run = [] {}});
  const Event behind = record(0);
  const Event done = record(1);
  drain(1);
  for (int step = 0; step < 5; ++step) pool_.close_generation();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the next launch would be blamed";
  EXPECT_NE(pool_.find(behind), nullptr) << "five marks later it has still not passed";
  EXPECT_NE(pool_.find(done), nullptr);
  is_open = true;
  drain(0);
  pool_.close_generation();
  EXPECT_EQ(pool_.find(behind), nullptr);
  EXPECT_EQ(pool_.find(done), nullptr);
}

TEST_F(Events, HaveAllPassedOnAnIdleDevice) {
  const Event event = record(0);
  drain(0);
  pool_.all_have_passed();
  EXPECT_EQ(pool_.find(event), nullptr);
  EXPECT_EQ(pool_.num_live(), 0U);
  EXPECT_NE(pool_.find(record(1)), nullptr);
}

TEST_F(Events, ThatWereNeverRecordedAreRefused) { EXPECT_THROW((void)pool_.find(Event{7}), std::invalid_argument); }

}  // namespace
}  // namespace underlap::cuda
