// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/attribution.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <string_view>

namespace underlap::attribution {
namespace {

constexpr Attribution kFromAFile{AttributionSource::none, 0, kNoName};

// A trace as a reader of a foreign format leaves it: one stream of one rank.
struct ForeignTrace {
  Trace trace;

  ForeignTrace() {
    trace.metadata["format"] = "kineto";
    trace.add_track({0, 7, "stream 7", TrackKind::stream, 0});
  }

  Slice slice(std::string_view name, std::int64_t duration_ns, Kind kind = Kind::compute) const {
    const std::int64_t start = trace.size() == 0 ? 0 : trace.end_ns(trace.size() - 1);
    Slice made{.track = 0, .start_ns = start, .duration_ns = duration_ns, .name = intern(name), .tag = {.kind = kind}};
    made.attribution = kFromAFile;
    return made;
  }
  void kernel(std::string_view name, std::int64_t duration_ns, Kind kind = Kind::compute) {
    trace.add(slice(name, duration_ns, kind));
  }
  void collective(std::string_view name, std::int64_t duration_ns, std::uint32_t group) {
    trace.add(slice(name, duration_ns), {.group = group, .transfers = {}});
  }
};

TEST(Attribution, TakesKernelsOfLibrariesAndPeerCopiesForCommunication) {
  ForeignTrace f;
  f.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 10);
  f.kernel("void gemm<int>(int)", 20);
  f.kernel("Memcpy PtoP (Device -> Device)", 3, Kind::copy);
  f.kernel("Memcpy DtoD (Device -> Device)", 4, Kind::copy);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).kind, Kind::communication);
  EXPECT_EQ(name_of(f.trace.tag(0).purpose), "all_reduce");
  EXPECT_EQ(f.trace.tag(1).kind, Kind::compute);
  EXPECT_EQ(f.trace.tag(2).kind, Kind::communication);
  EXPECT_EQ(f.trace.tag(3).kind, Kind::copy);
  EXPECT_EQ(report.communications(), 2);
  EXPECT_EQ(report.communication_ns(), 13);
}

TEST(Attribution, TakesTheModeFromTheNameOfTheGroup) {
  ForeignTrace f;
  const auto tp = f.trace.add_group(
      {.ranks = {0, 1}, .name = intern("3"), .description = intern("TENSOR_MODEL_PARALLEL_GROUP"), .num_ranks = 2});
  f.collective("ncclDevKernel_AllGather_RING_LL(int)", 10, tp);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::tp);
  EXPECT_EQ(f.trace.attribution(0).source, AttributionSource::group_name);
  EXPECT_GT(f.trace.attribution(0).confidence_pct, 90);
  EXPECT_NE(name_of(f.trace.attribution(0).reason).find("TENSOR_MODEL_PARALLEL_GROUP"), std::string_view::npos);
  EXPECT_EQ(report.unattributed(), 0);
}

TEST(Attribution, GivesKernelsWithoutARecordTheOnlyGroupOfTheirStream) {
  ForeignTrace f;
  const auto tp = f.trace.add_group({.ranks = {}, .name = intern("3"), .description = intern("mesh_tp")});
  const auto dp = f.trace.add_group({.ranks = {}, .name = intern("4"), .description = intern("mesh_dp")});
  f.kernel("ncclDevKernel_AllGather_RING_LL(int)", 10);
  f.collective("ncclDevKernel_AllGather_RING_LL(int)", 10, tp);
  f.kernel("Memcpy PtoP (Device -> Device)", 10, Kind::copy);
  f.trace.add_track({0, 8, "stream 8", TrackKind::stream, 0});
  for (const auto group : {tp, dp}) {
    Slice shared = f.slice("ncclDevKernel_AllGather_RING_LL(int)", 10);
    shared.track = 1;
    f.trace.add(shared, {.group = group, .transfers = {}});
  }
  Slice open = f.slice("ncclDevKernel_AllGather_RING_LL(int)", 10);
  open.track = 1;
  f.trace.add(open);
  attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::none);
  EXPECT_THAT(name_of(f.trace.attribution(0).reason), ::testing::StartsWith("probably tp: "));
  EXPECT_LT(f.trace.attribution(0).confidence_pct, f.trace.attribution(1).confidence_pct);
  EXPECT_NE(f.trace.attribution(2).source, AttributionSource::group_name);
  EXPECT_NE(f.trace.attribution(5).source, AttributionSource::group_name);
}

TEST(Attribution, LeavesWithoutModeWhatNothingExplainsInARowOfItsOwn) {
  ForeignTrace f;
  const auto group = f.trace.add_group({.ranks = {}, .name = intern("12"), .description = intern("undefined")});
  f.collective("ncclDevKernel_SendRecv(int)", 10, group);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).kind, Kind::communication);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::none);
  EXPECT_EQ(f.trace.attribution(0).source, AttributionSource::none);
  ASSERT_EQ(report.attributed.size(), 1U);
  EXPECT_EQ(report.unattributed(), 1);
  EXPECT_EQ(report.unattributed_ns(), 10);
}

TEST(Attribution, TakesTheModeFromALibraryThatServesOne) {
  ForeignTrace f;
  f.kernel("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", 10);
  attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::ep);
  EXPECT_EQ(f.trace.attribution(0).source, AttributionSource::kernel_name);
}

TEST(Attribution, ListsWhatLooksLikeCommunicationAndWasNotTaken) {
  ForeignTrace f;
  f.kernel("void moe::expert_dispatch<8>(int)", 10);
  f.kernel("void moe::expert_dispatch<8>(int)", 20);
  f.kernel("void dpsk::ep::cuda::get_dispatch_layout<256>(long const*)", 5);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(report.communications(), 0);
  ASSERT_EQ(report.not_taken.size(), 2U);
  EXPECT_EQ(report.not_taken[0].count, 2);
  EXPECT_EQ(report.not_taken[0].time_ns, 30);
  EXPECT_NE(report.not_taken[0].why, report.not_taken[1].why);
}

TEST(Attribution, LeavesOurOwnTagsAsTheyAre) {
  Trace trace;
  trace.metadata["backend"] = "sim";
  trace.add_track({0, 0, "compute"});
  Slice ours{.track = 0, .duration_ns = 5, .name = intern("ncclKernel_AllReduce_X"), .tag = {}};
  trace.add(ours);
  ours.tag = {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("grad_reduce_scatter")};
  trace.add(ours);
  const AttributionReport report = attribute(trace);
  EXPECT_EQ(trace.tag(0).kind, Kind::compute);
  EXPECT_EQ(trace.tag(1), ours.tag);
  EXPECT_EQ(trace.attribution(1).source, AttributionSource::tag);
  ASSERT_EQ(report.attributed.size(), 1U);
  EXPECT_EQ(report.attributed[0].mode, Mode::dp);
}

TEST(Attribution, LeavesCallsAndRangesAlone) {
  ForeignTrace f;
  f.trace.add_track({0, 42, "thread 42", TrackKind::thread});
  Slice call = f.slice("ncclKernel_AllReduce_RING", 5, Kind::none);
  call.track = 1;
  f.trace.add(call);
  f.kernel("ncclKernel_AllReduce_RING", 5, Kind::none);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(report.communications(), 0);
  EXPECT_EQ(f.trace.tag(0).kind, Kind::none);
  EXPECT_EQ(f.trace.tag(1).kind, Kind::none);
}

}  // namespace
}  // namespace underlap::attribution
