// SPDX-License-Identifier: Apache-2.0
// What a collector does otherwise for some releases of CUPTI.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "profiler/collect/cupti/activity_parser.hpp"
#include "tests/profiler/collect/cupti/collecting.hpp"

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

class CollectorOfARelease : public CollectorOfAFake {};

TEST_F(CollectorOfARelease, AsksAnOldLibraryForWholeKindsAndSaysSo) {
  cupti.version = 22;
  cupti.has_call_selection = false;
  cupti.has_all_sync_records = false;
  Collector& collector = start();
  EXPECT_THAT(cupti.calls(), AllOf(Contains("enable 5"), Contains("enable 4")));
  EXPECT_THAT(collector.info().notes, AllOf(Contains(HasSubstr("every API call")), Contains(HasSubstr("queries"))));
  collector.stop();
  EXPECT_EQ(cupti.num_calls("disable 4"), 1U);
}

TEST_F(CollectorOfARelease, SaysThatALibraryIsOlderThanTheRuntime) {
  cupti.version = 28;
  const auto is_said = Contains(HasSubstr("is older than the CUDA of this program"));
  if (CUDART_VERSION >= 13000)
    EXPECT_THAT(make().info().notes, is_said);
  else
    EXPECT_THAT(make().info().notes, Not(is_said));
}

TEST_F(CollectorOfARelease, LeavesOutCallsThatALibraryDoesNotKnowYet) {
  cupti.version = 24;
  Collector& collector = start();
  EXPECT_EQ(cupti.num_calls("runtime 505 on"), 0U);
  EXPECT_EQ(cupti.num_calls("runtime 482 on"), 0U);
}

TEST_F(CollectorOfARelease, SaysVersionsOfLibraryAndDriver) {
  const Collector& collector = make();
  EXPECT_EQ(collector.info().cupti_version, 130001U);
  EXPECT_EQ(collector.info().driver_version, 13000);
  EXPECT_EQ(collector.info().library, "synthetic");
}

TEST_F(CollectorOfARelease, LetsALibraryThatIsNewerThanTheTableFindItsRecords) {
  cupti.version = 140000;
  cupti.kernel_bytes = sizeof(CUpti_ActivityKernel10) + 40;
  Collector& collector = make();
  EXPECT_THAT(collector.info().notes, ElementsAre(HasSubstr("140000")));
  collector.start();
  cupti.run(SyntheticBuffer().add(kernel_at(1), 40).add(kernel_at(2), 40));
  const Drained drained = collector.drain();
  ASSERT_THAT(drained.activities.kernels, SizeIs(2));
  EXPECT_EQ(drained.activities.kernels[1].at.correlation, 2U);
  EXPECT_THAT(drained.activities.skipped, IsEmpty());
}

TEST_F(CollectorOfARelease, CountsARecordThatALibraryCallsIncompleteWithTheRestOfItsBuffer) {
  constexpr std::size_t kAppended = 16;
  auto incomplete = synthetic_kernel();
  incomplete.kind = CUPTI_ACTIVITY_KIND_INVALID;
  cupti.version = 130300;
  cupti.kernel_bytes = sizeof(CUpti_ActivityKernel10) + kAppended;
  Collector& collector = start();
  cupti.run(SyntheticBuffer().add(kernel_at(1), kAppended).add(incomplete, kAppended).add(kernel_at(2), kAppended));
  cupti.run(SyntheticBuffer().add(incomplete, kAppended));
  const Drained drained = collector.drain();
  EXPECT_THAT(drained.activities.kernels, SizeIs(1));
  EXPECT_THAT(lost_records(drained.activities),
              ElementsAre(testing::Pair("incomplete CUPTI record, with the rest of its buffer", 2)));
}

TEST_F(CollectorOfARelease, FindsTheRecordsOfAKnownLibraryByItself) {
  Collector& collector = start();
  cupti.run(kernel_of(1, 100));
  EXPECT_THAT(collector.drain().activities.kernels, SizeIs(1));
  EXPECT_EQ(cupti.num_calls("next"), 0U);
}

TEST_F(CollectorOfARelease, NeverRefusesABufferToALibraryThatWouldCrash) {
  cupti.version = 26;
  Collector& collector = start();
  for (std::uint32_t i = 1; i <= 6; ++i) cupti.run(SyntheticBuffer().add(kernel_at<CUpti_ActivityKernel9>(i)));
  const Drained drained = collector.drain();
  EXPECT_THAT(drained.activities.kernels, SizeIs(6));
  EXPECT_TRUE(drained.is_valid());
}

TEST_F(CollectorOfARelease, RefusesTheReleaseThatMayHangWhenItStops) {
  cupti.version = 130000;
  const std::string error = refusal();
  EXPECT_THAT(error, AllOf(HasSubstr("synthetic is CUPTI 130000 of CUDA 13.0 before Update 1"),
                           HasSubstr("\nput the CUPTI of CUDA 13.0 Update 1"), HasSubstr("run.trace: false")));
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1);
  EXPECT_EQ(cupti.num_calls("subscribe"), 0U);
  cupti.version = 130001;
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace underlap::cupti
