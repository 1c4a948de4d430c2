// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <array>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/activity_parser.hpp"
#include "tests/profiler/collect/cupti/synthetic_buffer.hpp"
#include "tests/profiler/error_of.hpp"

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

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
  activities.skipped["record of kind 77 of unknown size, with the rest of its buffer"] = 1;
  EXPECT_THAT(lost_records(activities),
              ElementsAre(Pair("kernel without times", 2),
                          Pair("record of kind 77 of unknown size, with the rest of its buffer", 1)));
}

TEST(ActivityParser, ReadsKernelsCopiesAndMemsets) {
  const Activities read = parse(kCuda13_0, SyntheticBuffer()
                                               .add(synthetic_kernel())
                                               .add(synthetic_copy())
                                               .add(synthetic_peer_copy())
                                               .add(synthetic_memset())
                                               .bytes());
  EXPECT_THAT(read.kernels,
              ElementsAre(FieldsAre(OnDevice{1000, 1500, 7}, intern(kSyntheticKernelName), Extent{132, 2, 3})));
  // Whether it is between two devices, and its bytes.
  EXPECT_THAT(read.copies, ElementsAre(FieldsAre(OnDevice{2000, 2600, 8}, false, 4096),
                                       FieldsAre(OnDevice{3000, 3100, 9}, true, 8192)));
  EXPECT_THAT(read.memsets, ElementsAre(FieldsAre(OnDevice{4000, 4010, 10}, 256)));
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(ActivityParser, ReadsWhatOrdersTheStreams) {
  auto wait = synthetic_synchronization();
  wait.cudaEventSyncId = 501;
  auto event = synthetic_event();
  event.cudaEventSyncId = 501;
  const Activities read = parse(kCuda13_0, SyntheticBuffer().add(wait).add(event).bytes());
  // Correlation, context, stream, event and its recording.
  EXPECT_THAT(read.synchronizations,
              ElementsAre(FieldsAre(5000, 5001, SynchronizationKind::stream_wait_event, 11U, 2U, 13U, 44U, 501U)));
  EXPECT_THAT(read.events, ElementsAre(FieldsAre(12U, 2U, 13U, 44U, 501U)));
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
  EXPECT_THAT(read.external_correlations, ElementsAre(FieldsAre(7U, kOperationCorrelation, 1234567890123U)));
  // Start, end, whether it is the runtime's, function, correlation, thread and result.
  EXPECT_THAT(read.api_calls, ElementsAre(FieldsAre(900, 905, true, 211U, 7U, 401U, 0U),
                                          FieldsAre(950, 955, false, 211U, 8U, 401U, 2U)));
  EXPECT_THAT(read.overheads, ElementsAre(FieldsAre(6000, 6500, 1U << 16)));
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
  EXPECT_THAT(read.copies, SizeIs(2));
  EXPECT_THAT(read.memsets, SizeIs(1));
  EXPECT_THAT(read.synchronizations, SizeIs(1));
  EXPECT_THAT(read.events, SizeIs(1));
  EXPECT_THAT(read.overheads, SizeIs(1));
  EXPECT_THAT(read.external_correlations, SizeIs(1));
  EXPECT_THAT(read.api_calls, SizeIs(1));
  ASSERT_THAT(read.kernels, SizeIs(2));
  EXPECT_EQ(read.kernels[1].at.correlation, 70U);
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(ActivityParser, ReadsTheStructuresOfCuda12) {
  const auto oldest = one_of_each<CUpti_ActivityKernel9, CUpti_ActivityMemcpy5, CUpti_ActivitySynchronization,
                                  CUpti_ActivityCudaEvent>();
  const Activities read = parse(kCuda12_4, oldest.bytes());
  expect_one_of_each(read);
  EXPECT_EQ(read.events[0].record, 0U);
  EXPECT_EQ(read.synchronizations[0].event_record, 0U);
  const auto later = one_of_each<CUpti_ActivityKernel9, CUpti_ActivityMemcpy6, CUpti_ActivitySynchronization2,
                                 CUpti_ActivityCudaEvent2>();
  expect_one_of_each(parse(kCuda12_8, later.bytes()));
}

TEST(ActivityParser, ReadsTheStructuresOfCuda13) {
  const std::map<std::uint32_t, std::array<std::size_t, 5>> appended{
      {130000, {}}, {130101, {8}}, {130300, {16}}, {130401, {32, 16, 16}}, {kCuda13_5, {32, 16, 16, 0, 24}}};
  for (const auto& [version, bytes] : appended) {
    SCOPED_TRACE(version);
    expect_one_of_each(parse(version, one_of_each<CUpti_ActivityKernel10, CUpti_ActivityMemcpy6,
                                                  CUpti_ActivitySynchronization2, CUpti_ActivityCudaEvent2>(bytes)
                                          .bytes()));
  }
}

TEST(ActivityParser, RefusesABufferOfAVersionThatItDoesNotKnow) {
  for (const std::uint32_t version : {18U, 25U, 29U, 130600U, 140000U})
    EXPECT_THAT(testing_support::error_of<MachineError>([&] { ActivityParser(version, name_in_this_process); }),
                HasSubstr(std::to_string(version)));
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
    EXPECT_THAT(read.skipped, ElementsAre(Pair("misplaced record, with the rest of its buffer", 1)));
  }
}

TEST(ActivityParser, ReadsNothingOfARecordThatIsTooShortForItsFields) {
  const auto buffer = SyntheticBuffer().add(synthetic_kernel(1));
  Activities read;
  ActivityParser(140000, name_in_this_process, library_with_kernels_of(64)).parse(buffer.bytes().first(64), read);
  EXPECT_THAT(read.kernels, IsEmpty());
  EXPECT_THAT(read.skipped, ElementsAre(Pair("record of kind 10 that is too short", 1)));
}

TEST(ActivityParser, CountsARecordOfUnknownSizeWithTheRestOfItsBuffer) {
  const std::map<CUpti_ActivityKind, const char*> kinds{
      {static_cast<CUpti_ActivityKind>(4242), "record of kind 4242 of unknown size, with the rest of its buffer"},
      {CUPTI_ACTIVITY_KIND_INVALID, "incomplete CUPTI record, with the rest of its buffer"}};
  for (const auto& [kind, reason] : kinds) {
    auto unknown = synthetic_kernel();
    unknown.kind = kind;
    const Activities read =
        parse(kCuda13_0, SyntheticBuffer().add(synthetic_kernel()).add(unknown).add(synthetic_kernel()).bytes());
    EXPECT_THAT(read.kernels, SizeIs(1));
    EXPECT_THAT(lost_records(read), ElementsAre(Pair(reason, 1)));
  }
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
    EXPECT_THAT(read.skipped, ElementsAre(Pair("record cut off by the end of its buffer", 1))) << missing;
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
  EXPECT_THAT(read.skipped,
              ElementsAre(Pair("copy with an invalid size", 1), Pair("kernel that ends before it starts", 1),
                          Pair("kernel with a time out of range", 1), Pair("kernel with an invalid grid or block", 1),
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
