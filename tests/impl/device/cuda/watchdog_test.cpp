// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/watchdog.hpp"

#include <future>

#include "platform/errors.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;
using cuda_host::NcclDouble;
using testing_support::all_reduce;
using namespace std::chrono_literals;

/// A watchdog without a thread, over a stream whose work is let through by hand.
class WatchdogOfOneStream : public testing::Test {
 protected:
  WatchdogOfOneStream() {
    Machine::instance().reset(1, 1);
    communicator_ = dog_.add("dp", {{4, 6}, 1});
  }

  // A group, or any work, that runs once gate `i` is open.
  void work(int i) {
    Machine::instance().enqueue(stream_.get(), {.ready = [this, i] { return open_ > i; }, .run = [] {}});
  }
  void group(int i, std::uint64_t sequence) {
    dog_.before(communicator_, stream_.get());
    work(i);
    dog_.after(communicator_, stream_.get(), Collective::all_gather, sequence);
  }
  // Opens gates up to `i` and lets everything run that may.
  void open(int i) {
    open_ = i;
    Machine::instance().run_all_that_may();
  }
  void poll_at(std::chrono::milliseconds time) { dog_.poll(Watchdog::Clock::time_point(time)); }

  StreamHandle stream_ = make_stream(0);
  int open_ = 0;
  std::optional<std::string> error_;
  std::vector<std::string> given_up_;
  Watchdog dog_{{.rank = 6, .timeout = 1000ms, .poll_interval = 0ms},
                [this] { return error_; },
                [this](const std::string& what) { given_up_.push_back(what); }};
  std::size_t communicator_ = 0;
};

TEST_F(WatchdogOfOneStream, CountsAGroupsTimeFromWhereItBeganAndNotFromItsEnqueueing) {
  work(0);
  group(1, 7);
  poll_at(0ms);
  poll_at(60'000ms);
  EXPECT_THAT(given_up_, IsEmpty()) << "what is in front of it takes a minute";
  open(1);
  poll_at(60'100ms);
  poll_at(61'000ms);
  EXPECT_THAT(given_up_, IsEmpty());
  poll_at(61'101ms);
  EXPECT_THAT(given_up_, ElementsAre(AllOf(HasSubstr("rank 6"), HasSubstr("all_gather of communicator dp"),
                                           HasSubstr("ranks 4, 6"), HasSubstr("sequence 7"), HasSubstr("1000 ms"))));
  poll_at(70'000ms);
  EXPECT_EQ(given_up_.size(), 1U) << "once is enough";
  open(2);
}

TEST_F(WatchdogOfOneStream, NamesTheFirstGroupThatIsNotDone) {
  for (int i = 0; i < 10; ++i) group(i, static_cast<std::uint64_t>(i));
  open(6);
  poll_at(0ms);
  poll_at(1001ms);
  EXPECT_THAT(given_up_, ElementsAre(HasSubstr("sequence 6")));
  open(10);
}

TEST_F(WatchdogOfOneStream, IsContentWithGroupsThatEndAndUsesTheirEventsAgain) {
  for (int i = 0; i < 50; ++i) {
    group(i, static_cast<std::uint64_t>(i));
    open(i + 1);
    poll_at(std::chrono::milliseconds(5000 * i));
  }
  EXPECT_THAT(given_up_, IsEmpty());
  EXPECT_EQ(Machine::instance().count_calls("cudaEventCreateWithFlags"), 2);
}

TEST_F(WatchdogOfOneStream, AsksCudaFewTimesHoweverManyGroupsAreInFlight) {
  for (int i = 0; i < 200; ++i) group(i, static_cast<std::uint64_t>(i));
  open(100);
  Machine::instance().clear_calls();
  poll_at(0ms);
  EXPECT_LE(Machine::instance().count_calls("cudaEventQuery"), 12);
  open(200);
}

TEST_F(WatchdogOfOneStream, GivesUpAtAnErrorOfTheLibraryOrOfAnotherRank) {
  error_ = "rank 4: its cable is gone";
  poll_at(0ms);
  EXPECT_THAT(given_up_, ElementsAre("rank 4: its cable is gone"));
}

TEST_F(WatchdogOfOneStream, CallsNothingWhileAStreamIsCaptured) {
  group(0, 0);
  int asked = 0;
  Watchdog dog(
      {.poll_interval = 0ms}, [&] { return ++asked, std::optional<std::string>(); }, [](const auto&) {});
  const std::size_t communicator = dog.add("dp", {{0}, 0});
  {
    const Watchdog::Pause pause(dog);
    const Watchdog::Pause inner(dog);
    Machine::instance().clear_calls();
    dog.before(communicator, stream_.get());
    dog.after(communicator, stream_.get(), Collective::all_gather, 0);
    dog.poll(Watchdog::Clock::time_point(1h));
    EXPECT_EQ(asked, 0);
    EXPECT_THAT(Machine::instance().all_calls(), IsEmpty());
  }
  dog.poll(Watchdog::Clock::time_point(2h));
  EXPECT_EQ(asked, 1);
  open(1);
}

TEST_F(WatchdogOfOneStream, SeesAGroupThatIsStuckWhileARecordWaitsForItInAFullQueue) {
  group(0, 7);
  poll_at(0ms);
  std::future<void> polled;
  bool is_seen = false;
  Machine::instance().before_record = [&] {
    if (polled.valid()) return;
    polled = std::async(std::launch::async, [&] { poll_at(1001ms); });
    is_seen = polled.wait_for(5s) == std::future_status::ready;
  };
  group(1, 8);
  EXPECT_TRUE(is_seen);
  EXPECT_THAT(given_up_, ElementsAre(HasSubstr("sequence 7")));
  open(2);
}

// The same with NCCL, ranks and threads.
TEST(WatchdogOfRanks, APeerThatNeverComesEndsAllRanksWithTheSameReason) {
  CudaRanks ranks(3, {}, {.peer_timeout = 500ms, .poll_interval = 10ms});
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const auto [dp, x] = testing_support::begin_with_communicator(device, group, "grad_reduce", 64);
    const int mine = group.my_index == 1 ? 2 : 3;
    for (int i = 0; i < mine; ++i) all_reduce(device, dp, x);
    if (group.my_index == 2) {
      EXPECT_THROW(device.synchronize(device.record(dp.stream)), MachineError) << "an event behind it passes, and lies";
    }
    device.synchronize();
    // The rank that stays away is told too, though it waits for nobody.
    while (group.my_index == 1 && !ranks.control().failure()) std::this_thread::sleep_for(1ms);
    if (group.my_index == 1)
      for (;;) {
        device.record(dp.stream);
        std::this_thread::sleep_for(1ms);
      }
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("all_reduce of communicator grad_reduce"), HasSubstr("ranks 0, 1, 2"),
                                 HasSubstr("sequence 2"), HasSubstr("500 ms"))));
  EXPECT_EQ(NcclDouble::instance().num_aborted_and_destroyed(), std::pair(3, 0));
}

TEST(WatchdogOfRanks, AnErrorThatNcclReportsEndsAllRanks) {
  CudaRanks ranks(2, {}, {.peer_timeout = 60s, .poll_interval = 10ms});
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const auto [dp, x] = testing_support::begin_with_communicator(device, group, "dp", 64);
    if (group.my_index == 0) {
      all_reduce(device, dp, x);
      NcclDouble::instance().set_async_error(0, ncclRemoteError);
    }
    for (;;) {
      device.synchronize();
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("NCCL error on communicator dp (ranks 0, 1): remote error"))));
}

TEST(WatchdogOfRanks, TellsTheOtherRanksWhyItGaveUpBeforeTheRankItselfKnows) {
  const NcclApi api = NcclDouble::api();
  Machine::instance().reset(1, 1);
  NcclDouble::instance().reset();
  ThreadControlPlane control(20s);
  NcclTransport transport(api, control, {.rank = 3, .poll_interval = 0ms});
  const auto channel = transport.connect(0, "dp", {{3}, 0}, {}, {});
  NcclDouble::instance().set_async_error(0, ncclRemoteError);
  EXPECT_EQ(control.failure(), std::nullopt);
  transport.watchdog().poll(Watchdog::Clock::now());
  EXPECT_THAT(control.failure().value_or(""), HasSubstr("rank 3: NCCL error on communicator dp"));
  EXPECT_EQ(NcclDouble::instance().num_aborted_and_destroyed(), std::pair(1, 0));
  EXPECT_THROW(transport.rethrow_failure(), MachineError);
}

TEST(WatchdogOfRanks, ARankThatThrowsTakesItsPeersDown) {
  CudaRanks ranks(3, {}, {.peer_timeout = 60s, .poll_interval = 10ms});
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const auto [dp, x] = testing_support::begin_with_communicator(device, group, "dp", 64);
    all_reduce(device, dp, x);
    if (group.my_index == 2) throw std::invalid_argument("bucket_size: -3");
    all_reduce(device, dp, x);
    device.synchronize();
  });
  EXPECT_THAT(errors, ElementsAre("rank 2: bucket_size: -3", "rank 2: bucket_size: -3", "bucket_size: -3"));
}

TEST(WatchdogOfRanks, ARankThatThrowsWithNothingInFlightWaitsForNobodyToDestroyItsCommunicators) {
  CudaRanks(2, {}, {.peer_timeout = 60s, .poll_interval = 10ms}).run_each([&](CudaDevice& device, const Group& group) {
    device.declare("dp", group);
    device.begin();
    if (group.my_index == 1) throw std::invalid_argument("bucket_size: -3");
  });
  EXPECT_THAT(NcclDouble::instance().calls("CommAbort"), Contains(testing::Field(&cuda_host::NcclCall::rank, 1)));
}

}  // namespace
}  // namespace underlap::cuda
