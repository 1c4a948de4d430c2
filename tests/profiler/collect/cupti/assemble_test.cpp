// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/assemble.hpp"

#include <cupti.h>
#include <gmock/gmock.h>

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

const RankOfTrace kRank{.rank = 2,
                        .streams = {{0, "compute"}, {4, "grad_reduce_scatter"}},
                        .groups = {{.purpose = intern("grad_reduce_scatter"), .ranks = {0, 2}}}};

KernelActivity kernel(std::uint32_t correlation, std::int64_t start, std::int64_t end, const char* name = "k") {
  return {
      .at = {.start_ns = start, .end_ns = end, .correlation = correlation}, .name = intern(name), .grid = {8, 2, 1}};
}

CopyActivity copy(std::uint32_t correlation, std::int64_t start, std::int64_t end, bool is_peer = false) {
  return {.at = {.start_ns = start, .end_ns = end, .correlation = correlation}, .is_peer = is_peer, .bytes = 64};
}

OperationRecord gemm(std::uint64_t id) {
  return {.id = id, .tag = {.layer = 3}, .name = intern("gemm"), .number = 17, .stream = 0};
}

OperationRecord reduce(std::uint64_t id) {
  return {.id = id,
          .tag = {.kind = Kind::communication, .mode = Mode::dp},
          .name = intern("reduce_scatter"),
          .number = 18,
          .stream = 4,
          .communication = {.group = 0, .sequence = 5, .transfers = {{.bytes = 640}}},
          .is_communication = true};
}

OperationRecord mark(std::uint64_t id, MarkOfStep step) {
  OperationRecord record = gemm(id);
  record.mark = step;
  return record;
}

// Call `correlation` was made in the region of operation `id`.
ExternalCorrelation belongs(std::uint32_t correlation, std::uint64_t id) {
  return {.correlation = correlation, .kind = kOperationCorrelation, .id = id};
}

TEST(Assemble, PutsTheOperationsTagAndStreamOnItsKernel) {
  const Activities activities{.kernels = {kernel(50, 100, 130)}, .external_correlations = {belongs(50, 1)}};
  const Assembled out = assemble(activities, std::vector{gemm(1)}, kRank);
  ASSERT_EQ(out.trace.size(), 1U);
  const Slice slice = out.trace.slice(0);
  EXPECT_EQ(slice.start_ns, 100);
  EXPECT_EQ(slice.duration_ns, 30);
  EXPECT_EQ(slice.name, intern("gemm"));
  EXPECT_EQ(slice.operation, 17U);
  EXPECT_EQ(slice.tag, gemm(1).tag);
  EXPECT_EQ(out.trace.tracks[slice.track], (Track{2, 0, "compute"}));
  EXPECT_EQ(out.trace.communication(0), nullptr);
  EXPECT_EQ(out.num_untagged(), 0);
  EXPECT_THAT(out.errors, IsEmpty());
}

TEST(Assemble, KeepsTracksOfIdleStreamsGroupsAndClocks) {
  RankOfTrace rank = kRank;
  rank.clocks = {{.rank = 2, .device_ns = 5, .unix_ns = 1005}};
  const Assembled out = assemble({}, {}, rank);
  EXPECT_EQ(out.trace.clocks, rank.clocks);
  EXPECT_THAT(out.trace.tracks, ElementsAre(Track{2, 0, "compute"}, Track{2, 4, "grad_reduce_scatter"}));
  EXPECT_EQ(out.trace.groups, kRank.groups);
}

TEST(Assemble, OnlyTheFirstKernelOfACommunicationHasItsRecord) {
  const Activities activities{.kernels = {kernel(51, 300, 400), kernel(50, 100, 130), kernel(51, 310, 320)},
                              .external_correlations = {belongs(50, 9), belongs(51, 9)}};
  const Assembled out = assemble(activities, std::vector{reduce(9)}, kRank);
  ASSERT_EQ(out.trace.size(), 3U);
  EXPECT_THAT(out.trace.start_ns(), ElementsAre(100, 300, 310));
  ASSERT_NE(out.trace.communication(0), nullptr);
  EXPECT_EQ(*out.trace.communication(0), reduce(9).communication);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(out.trace.communication(i), nullptr);
    EXPECT_EQ(out.trace.tag(i), reduce(9).tag);
  }
}

TEST(Assemble, CopiesAndMemsetsAreCopiesUnlessTheirOperationCommunicates) {
  const Activities activities{.copies = {copy(50, 100, 110), copy(60, 200, 250, true)},
                              .memsets = {{.at = {.start_ns = 90, .end_ns = 95, .correlation = 51}, .bytes = 8}},
                              .external_correlations = {belongs(50, 1), belongs(51, 1), belongs(60, 9)}};
  const Assembled out = assemble(activities, std::vector{gemm(1), reduce(9)}, kRank);
  ASSERT_EQ(out.trace.size(), 3U);
  EXPECT_EQ(out.trace.tag(0).kind, Kind::copy);
  EXPECT_EQ(out.trace.tag(0).layer, 3);
  EXPECT_EQ(out.trace.tag(1).kind, Kind::copy);
  EXPECT_EQ(out.trace.tag(2).kind, Kind::communication);
  EXPECT_NE(out.trace.communication(2), nullptr);
}

TEST(Assemble, AMarkIsTheEndOfItsKernelAndNoSliceAndWithoutOneAnError) {
  const Activities activities{.kernels = {kernel(52, 700, 705), kernel(50, 100, 105), kernel(51, 200, 300)},
                              .external_correlations = {belongs(50, 1), belongs(51, 2), belongs(52, 3)}};
  const std::vector operations{mark(1, {.block = 4, .step = 10}), gemm(2), mark(3, {.block = 4, .step = 11})};
  const Assembled out = assemble(activities, operations, kRank);
  EXPECT_THAT(out.trace.marks, ElementsAre(Mark{2, 4, 10, 105}, Mark{2, 4, 11, 705}));
  EXPECT_EQ(out.trace.size(), 1U);
  EXPECT_THAT(out.kernels, SizeIs(1));
  const Assembled without = assemble({}, std::vector{mark(1, {.block = 4, .step = 10})}, kRank);
  EXPECT_THAT(without.errors, ElementsAre(HasSubstr("block 4, step 10")));
  EXPECT_THAT(without.trace.marks, IsEmpty());
}

TEST(Assemble, CountsWhatBelongsToNoOperationByName) {
  Activities activities{.kernels = {kernel(50, 100, 130, "stray"), kernel(51, 200, 210, "stray"), kernel(52, 300, 301)},
                        .copies = {copy(53, 400, 404), copy(54, 500, 507, true)},
                        .memsets = {{.at = {.start_ns = 600, .end_ns = 601, .correlation = 55}}},
                        .external_correlations = {belongs(52, 999), belongs(53, 1)}};
  activities.external_correlations.push_back({.correlation = 50, .kind = kOperationCorrelation + 1, .id = 1});
  const Assembled out = assemble(activities, std::vector{gemm(1)}, kRank);
  EXPECT_THAT(out.untagged, ElementsAre(Pair("k", Total{1, 1}), Pair("memset", Total{1, 1}),
                                        Pair("peer copy", Total{1, 7}), Pair("stray", Total{2, 40})));
  EXPECT_EQ(out.num_untagged(), 5);
  EXPECT_EQ(out.trace.size(), 1U);
}

TEST(Assemble, TheNodesOfAGraphShareTheOperationOfItsLaunch) {
  const Activities activities{.kernels = {kernel(50, 100, 110), kernel(50, 110, 120), kernel(50, 120, 130)},
                              .external_correlations = {belongs(50, 1)}};
  EXPECT_EQ(assemble(activities, std::vector{gemm(1)}, kRank).trace.size(), 3U);
}

TEST(Assemble, KeepsWhatEachKernelWasLaunchedWith) {
  const Activities activities{.kernels = {kernel(51, 300, 400, "second"), kernel(50, 100, 130, "first")},
                              .external_correlations = {belongs(50, 2), belongs(51, 1)}};
  std::vector operations{gemm(1), gemm(2)};
  operations[0].sm_budget = 12;
  EXPECT_THAT(
      assemble(activities, operations, kRank).kernels,
      ElementsAre(FieldsAre(intern("first"), Extent{8, 2, 1}, 0), FieldsAre(intern("second"), Extent{8, 2, 1}, 12)));
}

TEST(Assemble, AnIdThatWasGivenTwiceIsAnError) {
  EXPECT_THAT(assemble({}, std::vector{gemm(7), gemm(7)}, kRank).errors, ElementsAre(HasSubstr("operation id 7")));
}

TEST(Assemble, ACommunicationBetweenRanksThatLeftNothingIsAnError) {
  const Activities activities{.kernels = {kernel(50, 100, 130)}, .external_correlations = {belongs(50, 9)}};
  EXPECT_THAT(assemble(activities, std::vector{reduce(9), reduce(10), reduce(11)}, kRank).lost,
              ElementsAre(Pair("a transfer by reduce_scatter", 2)));
}

TEST(Assemble, ACommunicationOfOneRankOrOfNoBytesMayLeaveNothing) {
  RankOfTrace alone = kRank;
  alone.groups[0].ranks = {2};
  EXPECT_THAT(assemble({}, std::vector{reduce(9)}, alone).lost, IsEmpty());
  OperationRecord empty = reduce(9);
  empty.communication.transfers = {{.bytes = 0}};
  EXPECT_THAT(assemble({}, std::vector{empty}, kRank).lost, IsEmpty());
}

constexpr CUpti_CallbackId kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
constexpr CUpti_CallbackId kDriverLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr CUpti_CallbackId kCopy = CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020;
constexpr CUpti_CallbackId kRecordEvent = CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020;

ApiActivity call(std::uint32_t correlation, std::int64_t start, CUpti_CallbackId function = kLaunch) {
  return {.start_ns = start, .end_ns = start + 10, .function = function, .correlation = correlation, .thread = 4};
}

TEST(Assemble, ALaunchWithoutAKernelIsAnErrorBesideKernelsOfItsOperation) {
  const Activities activities{.kernels = {kernel(50, 100, 130)},
                              .external_correlations = {belongs(50, 1), belongs(51, 1), belongs(52, 2)},
                              .api_calls = {call(50, 10), call(51, 30), call(52, 50)}};
  EXPECT_THAT(assemble(activities, std::vector{gemm(1), gemm(2)}, kRank).lost,
              ElementsAre(Pair("a launch of gemm", 2)));
}

TEST(Assemble, CallsThatPutNothingOnTheDeviceMissNothing) {
  ApiActivity refused = call(51, 30);
  refused.result = 1;
  ApiActivity event = call(52, 50, kRecordEvent);
  const Activities activities{.kernels = {kernel(50, 100, 130)},
                              .external_correlations = {belongs(50, 1), belongs(51, 1), belongs(52, 1)},
                              .api_calls = {call(50, 10), refused, event, call(53, 70), call(54, 90, 999)}};
  EXPECT_THAT(assemble(activities, std::vector{gemm(1)}, kRank).lost, IsEmpty());
}

// Which of the two numbers a kernel has is the library's choice.
TEST(Assemble, AKernelMayHaveTheNumberOfTheRuntimesCallOrOfTheDriversInIt) {
  ApiActivity driver = call(51, 12, kDriverLaunch);
  driver.end_ns = 18;
  driver.is_runtime = false;
  for (const std::uint32_t correlation : {50U, 51U}) {
    Activities activities{.kernels = {kernel(correlation, 100, 130)},
                          .external_correlations = {belongs(50, 1), belongs(51, 1)},
                          .api_calls = {driver, call(50, 10)}};
    EXPECT_THAT(assemble(activities, std::vector{gemm(1)}, kRank).lost, IsEmpty()) << correlation;
    activities.kernels.clear();
    EXPECT_THAT(assemble(activities, std::vector{gemm(1)}, kRank).lost, ElementsAre(Pair("a launch of gemm", 1)));
    ApiActivity elsewhere = driver;  // the same time on another thread is another launch
    elsewhere.thread = 5;
    activities.kernels = {kernel(correlation, 100, 130)};
    activities.api_calls = {elsewhere, call(50, 10)};
    EXPECT_THAT(assemble(activities, std::vector{gemm(1)}, kRank).lost, SizeIs(1)) << correlation;
  }
}

TEST(Assemble, ACopyThatLeftNothingMayBeOfNoBytesBesideAKernel) {
  const Activities activities{.kernels = {kernel(50, 100, 130)},
                              .external_correlations = {belongs(50, 1), belongs(51, 1)},
                              .api_calls = {call(50, 10), call(51, 30, kCopy)}};
  EXPECT_THAT(assemble(activities, std::vector{gemm(1)}, kRank).lost, IsEmpty());
}

TEST(Assemble, ACopyThatLeftNothingIsAnErrorWhereItsOperationCarriesBytesOrLeftNothingElse) {
  const Activities activities{.kernels = {kernel(50, 100, 130)},
                              .external_correlations = {belongs(50, 9), belongs(51, 9), belongs(60, 1)},
                              .api_calls = {call(50, 10), call(51, 30, kCopy), call(60, 50, kCopy)}};
  EXPECT_THAT(assemble(activities, std::vector{gemm(1), reduce(9)}, kRank).lost,
              ElementsAre(Pair("a copy of gemm", 1), Pair("a copy of reduce_scatter", 1)));
}

}  // namespace
}  // namespace underlap::cupti
