// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <array>
#include <string>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/activity_parser.hpp"
#include "tests/profiler/collect/cupti/synthetic_buffer.hpp"

namespace underlap::cupti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::uint32_t kCuda12_4 = 22;
constexpr std::uint32_t kCuda12_8 = 26;
constexpr std::uint32_t kCuda13_0 = 130001;
constexpr std::uint32_t kCuda13_5 = 130500;

Activities parse(std::uint32_t version, std::span<const std::uint8_t> bytes) {
  Activities activities;
  ActivityParser(version, name_in_this_process).parse(bytes, activities);
  return activities;
}

TEST(LostRecords, AreThoseOfWhatRanOnADevice) {
  Activities activities;
  activities.skipped = {{"API call without times", 1},
                        {"name of a kernel (the kernel is kept)", 2},
                        {"overhead that ends before it starts", 1},
                        {"record of kind 11, which is not used", 4},
                        {"synchronization without times", 3}};
  EXPECT_THAT(lost_records(activities), IsEmpty());
  activities.skipped["kernel without times"] = 2;
  activities.skipped["record of kind 77, with the rest of its buffer: its size is not known"] = 1;
  EXPECT_THAT(lost_records(activities),
              ElementsAre(testing::Pair("kernel without times", 2),
                          testing::Pair("record of kind 77, with the rest of its buffer: its size is not known", 1)));
}

TEST(ActivityParser, ReadsEveryFieldOfAKernel) {
  const Activities read = parse(kCuda13_0, SyntheticBuffer().add(synthetic_kernel()).bytes());
  ASSERT_EQ(read.kernels.size(), 1U);
  const KernelActivity& kernel = read.kernels[0];
  EXPECT_EQ(kernel.at, (OnDevice{.start_ns = 1000,
                                 .end_ns = 1500,
                                 .device = 1,
                                 .context = 2,
                                 .stream = 13,
                                 .correlation = 7,
                                 .graph_node = 99}));
  EXPECT_EQ(name_of(kernel.name), kSyntheticKernelName);
  EXPECT_EQ(kernel.grid, (Extent{132, 2, 3}));
  EXPECT_EQ(kernel.block, (Extent{384, 4, 5}));
  EXPECT_EQ(kernel.registers, 168);
  EXPECT_EQ(kernel.static_shared_bytes, 1024);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 200000);
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(ActivityParser, ReadsCopiesPeerCopiesAndMemsets) {
  const Activities read = parse(
      kCuda13_0, SyntheticBuffer().add(synthetic_copy()).add(synthetic_peer_copy()).add(synthetic_memset()).bytes());
  ASSERT_EQ(read.copies.size(), 2U);
  const CopyActivity& copy = read.copies[0];
  EXPECT_EQ(copy.at, (OnDevice{2000, 2600, 1, 2, 14, 8, 98}));
  EXPECT_EQ(copy.kind, CopyKind::device_to_device);
  EXPECT_FALSE(copy.is_peer);
  EXPECT_EQ(copy.bytes, 4096);
  EXPECT_EQ(copy.destination_device, 1U);
  const CopyActivity& peer = read.copies[1];
  EXPECT_EQ(peer.at, (OnDevice{3000, 3100, 1, 2, 15, 9, 97}));
  EXPECT_EQ(peer.kind, CopyKind::peer_to_peer);
  EXPECT_TRUE(peer.is_peer);
  EXPECT_EQ(peer.bytes, 8192);
  EXPECT_EQ(peer.source_device, 3U);
  EXPECT_EQ(peer.destination_device, 4U);
  ASSERT_EQ(read.memsets.size(), 1U);
  EXPECT_EQ(read.memsets[0].at, (OnDevice{4000, 4010, 1, 2, 16, 10, 96}));
  EXPECT_EQ(read.memsets[0].bytes, 256);
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(ActivityParser, ReadsWhatOrdersTheStreams) {
  auto wait = synthetic_synchronization();
  wait.cudaEventSyncId = 501;
  auto event = synthetic_event();
  event.cudaEventSyncId = 501;
  const Activities read = parse(kCuda13_0, SyntheticBuffer().add(wait).add(event).bytes());
  ASSERT_EQ(read.synchronizations.size(), 1U);
  EXPECT_EQ(read.synchronizations[0].kind, SynchronizationKind::stream_wait_event);
  EXPECT_EQ(read.synchronizations[0].start_ns, 5000);
  EXPECT_EQ(read.synchronizations[0].end_ns, 5001);
  EXPECT_EQ(read.synchronizations[0].correlation, 11U);
  EXPECT_EQ(read.synchronizations[0].stream, 13U);
  EXPECT_EQ(read.synchronizations[0].event, 44U);
  EXPECT_EQ(read.synchronizations[0].event_record, 501U);
  ASSERT_EQ(read.events.size(), 1U);
  EXPECT_EQ(read.events[0].correlation, 12U);
  EXPECT_EQ(read.events[0].context, 2U);
  EXPECT_EQ(read.events[0].stream, 13U);
  EXPECT_EQ(read.events[0].event, 44U);
  EXPECT_EQ(read.events[0].record, 501U);
}

TEST(ActivityParser, ReadsCallsTheirOperationsAndOverheads) {
  auto driver_call = synthetic_call(8, 950);
  driver_call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  driver_call.returnValue = CUDA_ERROR_OUT_OF_MEMORY;
  const Activities read = parse(kCuda13_0, SyntheticBuffer()
                                               .add(synthetic_external(7, 1234567890123))
                                               .add(synthetic_call())
                                               .add(driver_call)
                                               .add(synthetic_overhead())
                                               .bytes());
  ASSERT_EQ(read.external_correlations.size(), 1U);
  EXPECT_EQ(read.external_correlations[0].correlation, 7U);
  EXPECT_EQ(read.external_correlations[0].kind, kOperationCorrelation);
  EXPECT_EQ(read.external_correlations[0].id, 1234567890123U);
  ASSERT_EQ(read.api_calls.size(), 2U);
  EXPECT_EQ(read.api_calls[0].start_ns, 900);
  EXPECT_EQ(read.api_calls[0].end_ns, 905);
  EXPECT_EQ(read.api_calls[0].function, 211U);
  EXPECT_EQ(read.api_calls[0].correlation, 7U);
  EXPECT_EQ(read.api_calls[0].thread, 401U);
  EXPECT_TRUE(read.api_calls[0].is_runtime);
  EXPECT_EQ(read.api_calls[0].result, 0U);
  EXPECT_FALSE(read.api_calls[1].is_runtime);
  EXPECT_EQ(read.api_calls[1].result, 2U);
  ASSERT_EQ(read.overheads.size(), 1U);
  EXPECT_EQ(read.overheads[0].kind, 1U << 16);
  EXPECT_EQ(read.overheads[0].end_ns - read.overheads[0].start_ns, 500);
  EXPECT_EQ(read.overheads[0].correlation, 77U);
}

// Every record is followed by another, so a size that is wrong by a byte is seen.
template <class Kernel, class Copy, class Synchronization, class Event>
SyntheticBuffer one_of_each(std::array<std::size_t, 5> appended = {}) {
  return SyntheticBuffer()
      .add(synthetic_kernel<Kernel>(), appended[0])
      .add(synthetic_copy<Copy>(), appended[1])
      .add(synthetic_memset(), appended[2])
      .add(synthetic_synchronization<Synchronization>(), appended[3])
      .add(synthetic_event<Event>(), appended[4])
      .add(synthetic_peer_copy())
      .add(synthetic_overhead())
      .add(synthetic_external(7, 3))
      .add(synthetic_call())
      .add(synthetic_kernel<Kernel>(70), appended[0]);
}

void expect_one_of_each(const Activities& read) {
  EXPECT_EQ(read.num_records, 10);
  EXPECT_EQ(read.copies.size(), 2U);
  EXPECT_EQ(read.memsets.size(), 1U);
  EXPECT_EQ(read.synchronizations.size(), 1U);
  EXPECT_EQ(read.events.size(), 1U);
  EXPECT_EQ(read.overheads.size(), 1U);
  EXPECT_EQ(read.external_correlations.size(), 1U);
  EXPECT_EQ(read.api_calls.size(), 1U);
  ASSERT_EQ(read.kernels.size(), 2U);
  EXPECT_EQ(read.kernels[1].at.correlation, 70U);
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(ActivityParser, ReadsTheStructuresOfCuda12_4) {
  const auto buffer = one_of_each<CUpti_ActivityKernel9, CUpti_ActivityMemcpy5, CUpti_ActivitySynchronization,
                                  CUpti_ActivityCudaEvent>();
  const Activities read = parse(kCuda12_4, buffer.bytes());
  expect_one_of_each(read);
  EXPECT_EQ(read.events[0].record, 0U);
  EXPECT_EQ(read.synchronizations[0].event_record, 0U);
}

TEST(ActivityParser, ReadsTheStructuresOfCuda12_8) {
  expect_one_of_each(parse(kCuda12_8, one_of_each<CUpti_ActivityKernel9, CUpti_ActivityMemcpy6,
                                                  CUpti_ActivitySynchronization2, CUpti_ActivityCudaEvent2>()
                                          .bytes()));
}

TEST(ActivityParser, ReadsTheStructuresOfCuda13) {
  const auto with = [](std::array<std::size_t, 5> appended) {
    return one_of_each<CUpti_ActivityKernel10, CUpti_ActivityMemcpy6, CUpti_ActivitySynchronization2,
                       CUpti_ActivityCudaEvent2>(appended);
  };
  expect_one_of_each(parse(130000, with({}).bytes()));
  expect_one_of_each(parse(130101, with({8}).bytes()));
  expect_one_of_each(parse(130300, with({16}).bytes()));
  expect_one_of_each(parse(130401, with({32, 16, 16}).bytes()));
  expect_one_of_each(parse(kCuda13_5, with({32, 16, 16, 0, 24}).bytes()));
}

TEST(ActivityParser, RefusesABufferOfAVersionThatItDoesNotKnow) {
  for (const std::uint32_t version : {18U, 25U, 29U, 130600U, 140000U}) {
    try {
      ActivityParser(version, name_in_this_process);
      FAIL() << "took version " << version;
    } catch (const MachineError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(version)));
    }
  }
}

// The library of a version that nobody knows yet: its kernels are 24 bytes longer than the header's.
ActivityParser::NextRecord library_with_kernels_of(std::size_t bytes) {
  return [bytes](std::span<const std::uint8_t> buffer, const std::uint8_t* previous) -> const std::uint8_t* {
    const std::uint8_t* const next = previous == nullptr ? buffer.data() : previous + bytes;
    return next < buffer.data() + buffer.size() ? next : nullptr;
  };
}

TEST(ActivityParser, AsksTheLibraryForTheBordersOfANewerVersionsRecords) {
  const std::size_t bytes = sizeof(CUpti_ActivityKernel10) + 24;
  const auto buffer = SyntheticBuffer().add(synthetic_kernel(1), 24).add(synthetic_kernel(2), 24);
  Activities read;
  ActivityParser(140000, name_in_this_process, library_with_kernels_of(bytes)).parse(buffer.bytes(), read);
  ASSERT_EQ(read.kernels.size(), 2U);
  EXPECT_EQ(read.kernels[1].at.correlation, 2U);
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(ActivityParser, DoesNotFollowALibraryOutOfTheBuffer) {
  const auto buffer = SyntheticBuffer().add(synthetic_kernel(1));
  const auto beyond = [](std::span<const std::uint8_t> bytes, const std::uint8_t* previous) {
    return previous == nullptr ? bytes.data() : bytes.data() + bytes.size() + 64;
  };
  const auto in_place = [](std::span<const std::uint8_t> bytes, const std::uint8_t*) { return bytes.data(); };
  const auto misaligned = [](std::span<const std::uint8_t> bytes, const std::uint8_t* previous) {
    return previous == nullptr ? bytes.data() : previous + 4;
  };
  for (const ActivityParser::NextRecord& next :
       {ActivityParser::NextRecord(beyond), ActivityParser::NextRecord(in_place),
        ActivityParser::NextRecord(misaligned)}) {
    Activities read;
    ActivityParser(140000, name_in_this_process, next).parse(buffer.bytes(), read);
    EXPECT_EQ(read.kernels.size(), 1U);
    EXPECT_THAT(read.skipped, ElementsAre(Pair("record where none can begin, with the rest of its buffer", 1)));
  }
}

TEST(ActivityParser, ReadsNothingOfARecordThatIsTooShortForItsFields) {
  const auto buffer = SyntheticBuffer().add(synthetic_kernel(1));
  Activities read;
  ActivityParser(140000, name_in_this_process, library_with_kernels_of(64)).parse(buffer.bytes().first(64), read);
  EXPECT_THAT(read.kernels, IsEmpty());
  EXPECT_THAT(read.skipped, ElementsAre(Pair("record of kind 10 that is too short", 1)));
}

TEST(ActivityParser, CountsAnUnknownKindWithTheRestOfItsBuffer) {
  auto unknown = synthetic_kernel();
  unknown.kind = static_cast<CUpti_ActivityKind>(4242);
  const Activities read =
      parse(kCuda13_0, SyntheticBuffer().add(synthetic_kernel()).add(unknown).add(synthetic_kernel()).bytes());
  EXPECT_EQ(read.kernels.size(), 1U);
  EXPECT_THAT(read.skipped,
              ElementsAre(Pair("record of kind 4242, with the rest of its buffer: its size is not known", 1)));
}

TEST(ActivityParser, NamesARecordThatWasNotCompleted) {
  auto incomplete = synthetic_kernel();
  incomplete.kind = CUPTI_ACTIVITY_KIND_INVALID;
  const Activities read = parse(kCuda13_0, SyntheticBuffer().add(synthetic_kernel()).add(incomplete).bytes());
  EXPECT_EQ(read.kernels.size(), 1U);
  EXPECT_THAT(lost_records(read),
              ElementsAre(testing::Pair("record that CUPTI had not completed, with the rest of its buffer", 1)));
}

TEST(ActivityParser, StepsOverAKindThatItHasNoUseFor) {
  CUpti_ActivityName name{};
  name.kind = CUPTI_ACTIVITY_KIND_NAME;
  const Activities read = parse(kCuda13_0, SyntheticBuffer().add(name).add(synthetic_kernel()).bytes());
  EXPECT_EQ(read.kernels.size(), 1U);
  EXPECT_THAT(read.skipped, ElementsAre(Pair("record of kind 11, which is not used", 1)));
}

TEST(ActivityParser, CountsABufferThatEndsInsideARecord) {
  const auto buffer = SyntheticBuffer().add(synthetic_memset()).add(synthetic_kernel());
  for (const std::size_t missing : {1U, 8U, 200U, 209U, 215U}) {
    const Activities read = parse(kCuda13_0, buffer.bytes().first(buffer.bytes().size() - missing));
    EXPECT_EQ(read.memsets.size(), 1U);
    EXPECT_THAT(read.kernels, IsEmpty());
    EXPECT_THAT(read.skipped, ElementsAre(Pair("end of a buffer inside a record", 1))) << missing;
  }
}

TEST(ActivityParser, CountsTimesThatCannotBe) {
  auto negative_bytes = synthetic_copy();
  negative_bytes.bytes = ~std::uint64_t{0};
  auto no_grid = synthetic_kernel();
  no_grid.gridY = 0;
  const Activities read = parse(kCuda13_0, SyntheticBuffer()
                                               .add(synthetic_kernel(1, 0, 0))
                                               .add(synthetic_kernel(2, 500, 0))
                                               .add(synthetic_kernel(3, 500, 499))
                                               .add(synthetic_kernel(4, 500, ~std::uint64_t{0}))
                                               .add(synthetic_overhead(0, 0))
                                               .add(negative_bytes)
                                               .add(no_grid)
                                               .add(synthetic_kernel(5, 500, 500))
                                               .bytes());
  ASSERT_EQ(read.kernels.size(), 1U);
  EXPECT_EQ(read.kernels[0].at.correlation, 5U);
  EXPECT_THAT(
      read.skipped,
      ElementsAre(Pair("copy of an impossible size", 1), Pair("kernel that ends before it starts", 1),
                  Pair("kernel with a time out of range", 1), Pair("kernel with an impossible grid or block", 1),
                  Pair("kernel without times", 2), Pair("overhead without times", 1)));
}

TEST(ActivityParser, KeepsAKernelWhoseNameIsNotKnown) {
  const Activities read =
      parse(kCuda13_0, SyntheticBuffer().add(synthetic_kernel(1, 10, 20, nullptr)).add(synthetic_kernel(2)).bytes());
  ASSERT_EQ(read.kernels.size(), 2U);
  EXPECT_EQ(read.kernels[0].name, kNoName);
  EXPECT_THAT(read.skipped, ElementsAre(Pair("name of a kernel (the kernel is kept)", 1)));
}

TEST(ActivityParser, ReadsABufferAtAnyAddress) {
  auto buffer = SyntheticBuffer().add(synthetic_kernel()).add(synthetic_copy());
  auto& bytes = buffer.storage();
  bytes.insert(bytes.begin(), 3, 0);
  const Activities read = parse(kCuda13_0, buffer.bytes().subspan(3));
  EXPECT_EQ(read.kernels.size(), 1U);
  EXPECT_EQ(read.copies.size(), 1U);
}

}  // namespace
}  // namespace underlap::cupti
