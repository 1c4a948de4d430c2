// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/collector.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/activity_parser.hpp"
#include "profiler/collect/cupti/clock.hpp"
#include "tests/profiler/collect/cupti/collecting.hpp"

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

class StartedCollector : public CollectorOfAFake {
 protected:
  Collector& collector = start();
};

TEST_F(StartedCollector, RegistersBuffersBeforeItEnablesAKind) {
  const auto calls = cupti.calls();
  EXPECT_THAT(std::vector(calls.begin(), calls.begin() + 12),
              ElementsAre("version", "subscribe", "callbacks", "all_sync 0", "enable 10", "enable 1", "enable 22",
                          "enable 2", "enable 38", "enable 36", "enable 17", "enable 39"));
}

TEST_F(StartedCollector, RecordsOnlyTheCallsThatPutWorkOnAStream) {
  const auto calls = cupti.calls();
  for (const char* call : {"runtime 211 on", "runtime 430 on", "runtime 505 on", "runtime 41 on", "runtime 51 on",
                           "runtime 135 on", "runtime 147 on", "runtime 311 on", "driver 307 on", "driver 652 on",
                           "driver 119 on", "driver 295 on", "driver 514 on"})
    EXPECT_THAT(calls, Contains(call));
  EXPECT_THAT(calls, Not(Contains("enable 5")));
  EXPECT_THAT(calls, Not(Contains("enable 4")));
  EXPECT_THAT(collector.info().notes, IsEmpty());
  collector.stop();
  EXPECT_EQ(cupti.num_calls("runtime 211 off"), 1U);
  EXPECT_EQ(cupti.calls().back(), "disable 10");
}

TEST_F(StartedCollector, DrainsWhatRanSinceTheLastDrain) {
  cupti.run_and_complete(kernel_of(1, 100));
  cupti.run(kernel_of(2, 200));
  const Drained first = collector.drain();
  ASSERT_THAT(first.activities.kernels, SizeIs(2));
  EXPECT_EQ(first.activities.kernels[0].at.correlation, 1U);
  EXPECT_EQ(first.activities.kernels[1].at.correlation, 2U);
  EXPECT_EQ(first.num_buffers, 2);
  EXPECT_TRUE(first.is_valid());
  cupti.run(kernel_of(3, 300));
  const Drained second = collector.drain();
  ASSERT_THAT(second.activities.kernels, SizeIs(1));
  EXPECT_EQ(second.activities.kernels[0].at.correlation, 3U);
  EXPECT_THAT(collector.drain().activities.kernels, IsEmpty());
}

TEST_F(StartedCollector, ForcesTheFlushOnceItIsStopped) {
  cupti.leave_incomplete(kernel_of(1, 100));
  EXPECT_THAT(collector.drain().activities.kernels, IsEmpty());
  EXPECT_EQ(cupti.calls().back(), "flush 0");
  collector.stop();
  EXPECT_THAT(collector.drain().activities.kernels, SizeIs(1));
  EXPECT_EQ(cupti.calls().back(), "flush 1");
}

TEST_F(StartedCollector, ADroppedRecordMakesTheDrainInvalid) {
  cupti.drop_of_stream(2);
  cupti.run_and_complete(kernel_of(1, 100));
  cupti.drop(3);
  const Drained drained = collector.drain();
  EXPECT_EQ(drained.num_dropped, 5);
  EXPECT_FALSE(drained.is_valid());
  EXPECT_TRUE(collector.drain().is_valid());
}

TEST_F(StartedCollector, DropsRecordsWhenItsBuffersAreAllInUse) {
  for (std::uint32_t i = 1; i <= 6; ++i) cupti.run(kernel_of(i, 100 * i));
  EXPECT_EQ(cupti.last_request_bytes(), 0U);
  const Drained drained = collector.drain();
  EXPECT_THAT(drained.activities.kernels, SizeIs(4));
  EXPECT_EQ(drained.num_refused, 2);
  EXPECT_EQ(drained.num_dropped, 2);
  EXPECT_FALSE(drained.is_valid());
  cupti.run(kernel_of(9, 900));
  EXPECT_EQ(cupti.last_request_bytes(), 4096U);
  EXPECT_TRUE(collector.drain().is_valid());
}

TEST_F(StartedCollector, CountsABufferThatIsCutShort) {
  cupti.complete_with_size(kernel_of(1, 100), 100);
  const Drained drained = collector.drain();
  EXPECT_THAT(drained.activities.kernels, IsEmpty());
  EXPECT_EQ(drained.activities.skipped.at("record cut off by the end of its buffer"), 1);
}

TEST_F(CollectorOfAFake, NeverReadsPastABufferThatClaimsMoreThanItHolds) {
  constexpr std::size_t kKernels = 8;
  CollectorOptions full = kSmall;
  full.buffer_bytes = kKernels * sizeof(CUpti_ActivityKernel10);
  Collector& collector = start(full);
  SyntheticBuffer records;
  for (std::uint32_t i = 0; i < kKernels; ++i) records.add(kernel_at(i));
  cupti.complete_with_size(records, 1U << 30);
  const Drained drained = collector.drain();
  EXPECT_THAT(drained.activities.kernels, SizeIs(kKernels));
  EXPECT_THAT(drained.activities.skipped, IsEmpty());
}

TEST_F(StartedCollector, LeavesABufferThatIsNotItsOwn) {
  SyntheticBuffer foreign = kernel_of(1, 100);
  cupti.complete_foreign(foreign.storage().data(), foreign.storage().size());
  EXPECT_EQ(collector.drain().num_buffers, 0);
}

TEST_F(CollectorOfAFake, GathersFromManyThreadsAtOnce) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kKernels = 100;
  // As many buffers as there are kernels: the writer may be as slow as it likes.
  Collector& collector = start({.buffer_bytes = 4096, .initial_buffers = 4, .most_buffers = kThreads * kKernels});
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([this, thread] {
      for (std::uint32_t i = 0; i < kKernels; ++i) cupti.run_and_complete(kernel_of(thread * kKernels + i, 100 + i));
    });
  std::vector<bool> seen(kThreads * kKernels, false);
  const auto note = [&seen](const Drained& drained) {
    for (const KernelActivity& kernel : drained.activities.kernels) seen.at(kernel.at.correlation) = true;
  };
  note(collector.drain());  // while they run
  for (std::thread& thread : threads) thread.join();
  const Drained rest = collector.drain();
  note(rest);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(kThreads * kKernels));
  EXPECT_EQ(rest.num_dropped, 0);
}

TEST_F(CollectorOfAFake, NestsOperationsPerThread) {
  Collector& collector = make();
  collector.push(10);
  EXPECT_EQ(cupti.operation(), 10U);
  collector.push(11);
  EXPECT_EQ(cupti.operation(), 11U);
  std::thread([&] { EXPECT_EQ(cupti.operation(), 0U); }).join();
  collector.pop();
  EXPECT_EQ(cupti.operation(), 10U);
  collector.pop();
  EXPECT_EQ(cupti.operation(), 0U);
  EXPECT_EQ(cupti.num_calls("push 3 11"), 1U);
}

TEST_F(CollectorOfAFake, RefusesAPopWithoutAPush) {
  Collector& collector = make();
  collector.push(1);
  collector.pop();
  EXPECT_THROW(collector.pop(), std::invalid_argument);
}

TEST_F(CollectorOfAFake, NamesTheErrorWhenAnotherClientIsAttached) {
  cupti.fail("subscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  const std::string error = refusal();
  EXPECT_THAT(error, AllOf(HasSubstr("uses CUPTI in this process"), HasSubstr("MULTIPLE_SUBSCRIBERS"),
                           HasSubstr("run without tracing")));
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1);
  EXPECT_EQ(cupti.num_calls("enable 10"), 0U);
  EXPECT_EQ(cupti.num_calls("unsubscribe"), 0U);
}

TEST_F(CollectorOfAFake, SwitchesEverythingOffAgainWhenAKindIsRefused) {
  Collector& collector = make();
  cupti.fail("enable 36", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_THAT(testing_support::error_of<MachineError>([&] { collector.start(); }),
              AllOf(HasSubstr("CUDA_EVENT"), HasSubstr("INSUFFICIENT_PRIVILEGES (not enough rights)"),
                    HasSubstr("\nrun as an administrator")));
  for (const char* kind : {"disable 10", "disable 1", "disable 22", "disable 2", "disable 38"})
    EXPECT_EQ(cupti.num_calls(kind), 1U) << kind;
  EXPECT_EQ(cupti.num_calls("disable 36"), 0U);
}

TEST_F(CollectorOfAFake, SwitchesItsCallsOffAgainWhenOneIsRefused) {
  Collector& collector = make();
  cupti.fail("driver 652 on", CUPTI_ERROR_UNKNOWN);
  EXPECT_THROW(collector.start(), MachineError);
  EXPECT_EQ(cupti.num_calls("runtime 211 off"), 1U);
  EXPECT_EQ(cupti.num_calls("disable 10"), 1U);
}

TEST_F(StartedCollector, StartsAndStopsOnceHoweverOftenItIsAsked) {
  collector.start();
  EXPECT_EQ(cupti.num_calls("enable 10"), 1U);
  collector.stop();
  collector.stop();
  EXPECT_EQ(cupti.num_calls("disable 10"), 1U);
  collector.start();
  EXPECT_EQ(cupti.num_calls("enable 10"), 2U);
}

TEST_F(CollectorOfAFake, ThereIsOneAProcess) {
  const Api api = cupti.api();
  {
    const Collector first(api, kSmall);
    EXPECT_THROW(Collector(api, kSmall), std::invalid_argument);
  }
  EXPECT_NO_THROW(Collector(api, kSmall));
  EXPECT_EQ(cupti.num_calls("unsubscribe"), 2U);
}

TEST_F(CollectorOfAFake, LetsGoOfCuptiWhenItsPreparationFails) {
  cupti.fail("callbacks", CUPTI_ERROR_INVALID_OPERATION);
  EXPECT_THAT(refusal(), HasSubstr("cuptiActivityRegisterCallbacks"));
  EXPECT_EQ(cupti.num_calls("unsubscribe"), 1U);
  cupti.fail("callbacks", CUPTI_SUCCESS);
  EXPECT_EQ(refusal(), "");
}

TEST_F(CollectorOfAFake, TakesBackIncompleteBuffersWhenItEnds) {
  const Api api = cupti.api();
  {
    Collector collector(api, kSmall);
    collector.start();
    cupti.leave_incomplete(kernel_of(1, 100));
  }
  const auto calls = cupti.calls();
  const auto position = [&](const char* call) { return std::find(calls.begin(), calls.end(), call) - calls.begin(); };
  EXPECT_LT(position("disable 10"), position("flush 1"));
  EXPECT_LT(position("flush 1"), position("unsubscribe"));
}

TEST_F(StartedCollector, PutsTimesOnTheClockOfTheOtherBackends) {
  const std::int64_t before = monotonic_ns();
  cupti.run(kernel_of(1, 0));
  const std::int64_t after = monotonic_ns();
  const Drained drained = collector.drain();
  ASSERT_THAT(drained.activities.kernels, SizeIs(1));
  constexpr std::int64_t kReading = 100'000;  // two clocks are read one after the other, however long that takes
  EXPECT_GE(drained.activities.kernels[0].at.start_ns, before - kReading);
  EXPECT_LE(drained.activities.kernels[0].at.end_ns, after + kReading);
}

TEST_F(StartedCollector, DropsWhatHasATimeOutsideItsCapture) {
  cupti.run(SyntheticBuffer().add(synthetic_kernel(1, 100, 110)).add(kernel_at(2)));
  cupti.run(kernel_of(3, 60'000'000'000));
  const Drained drained = collector.drain();
  ASSERT_THAT(drained.activities.kernels, SizeIs(1));
  EXPECT_EQ(drained.activities.kernels[0].at.correlation, 2U);
  EXPECT_THAT(lost_records(drained.activities), ElementsAre(testing::Pair(HasSubstr("kernel with a time outside"), 2)));
}

TEST_F(StartedCollector, KeepsWhatWasNotCompleteAtTheLastDrain) {
  cupti.leave_incomplete(kernel_of(1, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));  // longer than a time may lie outside its capture
  EXPECT_THAT(collector.drain().activities.kernels, IsEmpty());
  collector.stop();
  EXPECT_THAT(collector.drain().activities.kernels, SizeIs(1));
}

TEST_F(StartedCollector, SaysThatTheSystemsClockWasSetWhileItCollected) {
  cupti.run(kernel_of(1, 0));
  cupti.clock_is_ahead_ns += 1'000'000'000;
  collector.stop();
  EXPECT_THAT(lost_records(collector.drain().activities),
              Contains(testing::Key(HasSubstr("clock was adjusted: it gained "))));
  EXPECT_THAT(lost_records(collector.drain().activities), IsEmpty());
}

TEST_F(StartedCollector, StoresItsClockBesideTheWallClock) {
  const Drained drained = collector.drain();
  ASSERT_THAT(drained.clocks, SizeIs(2));
  EXPECT_EQ(drained.clocks[0].rank, 3);
  EXPECT_LT(drained.clocks[0].device_ns, drained.clocks[1].device_ns);
  EXPECT_GT(drained.clocks[0].unix_ns, 1'600'000'000'000'000'000);
}

TEST_F(CollectorOfAFake, KeepsRawBuffersWithTheNamesTheyPointTo) {
  CollectorOptions options = kSmall;
  options.keeps_raw = true;
  Collector& collector = start(options);
  const SyntheticBuffer records = kernel_of(5, 100);
  cupti.run(records);
  const Drained drained = collector.drain();
  ASSERT_THAT(drained.recording.buffers, SizeIs(1));
  EXPECT_TRUE(std::ranges::equal(drained.recording.buffers[0], records.bytes()));
  ASSERT_THAT(drained.recording.names, SizeIs(1));
  EXPECT_EQ(drained.recording.names.begin()->second, kSyntheticKernelName);
  EXPECT_EQ(drained.recording.cupti_version, 130001U);
  EXPECT_EQ(drained.recording.about.at("cupti"), "130001 (driver of CUDA 13.0)");
}

}  // namespace
}  // namespace underlap::cupti
