// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/annotations.hpp"

#include <gmock/gmock.h>

#include <string_view>

#include "profiler/attribution/attribution.hpp"
#include "tests/profiler/attribution/layouts.hpp"

namespace underlap::attribution {
namespace {

// A kernel that a call of a thread launches, within ranges of that thread.
struct LaunchedTrace {
  Trace trace;
  std::uint32_t thread = trace.add_track({0, 42, "thread 42", TrackKind::thread});
  std::uint32_t ranges = trace.add_track({0, 42, "ranges of 42", TrackKind::range});
  std::uint32_t on_device = trace.add_track({0, 7, "ranges of stream 7", TrackKind::range, 0});
  std::uint32_t stream = trace.add_track({0, 7, "stream 7", TrackKind::stream, 0});

  std::size_t add(std::uint32_t track, std::string_view name, std::int64_t start_ns, std::int64_t end_ns,
                  Kind kind = Kind::none) {
    Slice slice{.track = track,
                .start_ns = start_ns,
                .duration_ns = end_ns - start_ns,
                .name = intern(name),
                .tag = {.kind = kind}};
    slice.attribution = {AttributionSource::none, 0, kNoName};
    trace.add(slice);
    return trace.size() - 1;
  }
  std::size_t launch(std::string_view kernel, std::int64_t at_ns, std::int64_t start_ns) {
    const std::size_t call = add(thread, "cudaLaunchKernel", at_ns, at_ns + 1);
    const std::size_t made = add(stream, kernel, start_ns, start_ns + 5, Kind::compute);
    trace.flows.push_back({static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(made), FlowKind::launch});
    return made;
  }
};

constexpr std::string_view kSendRecv = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

TEST(Annotations, TellTheModeOfWhatIsLaunchedInThem) {
  LaunchedTrace t;
  t.add(t.ranges, "FSDP::post_backward_reduce", 0, 100);
  t.add(t.ranges, "nccl:_reduce_scatter_base", 10, 20);
  t.add(t.ranges, "forward-send", 200, 300);
  const auto in_fsdp = t.launch("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(int)", 15, 500);
  const auto in_pipeline = t.launch(kSendRecv, 250, 600);
  const auto after = t.launch(kSendRecv, 150, 700);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(in_fsdp).mode, Mode::fsdp);
  EXPECT_EQ(t.trace.attribution(in_fsdp).source, AttributionSource::annotation);
  EXPECT_EQ(name_of(t.trace.attribution(in_fsdp).reason), "it was launched in FSDP::post_backward_reduce");
  EXPECT_EQ(t.trace.tag(in_pipeline).mode, Mode::pp);
  EXPECT_EQ(t.trace.tag(after).mode, Mode::none);
}

TEST(Annotations, OfAWholeForwardPassSayNothingOfWhatTheModelExchanges) {
  LaunchedTrace t;
  t.add(t.ranges, "DistributedDataParallel.forward", 0, 100);
  t.add(t.ranges, "nccl:all_to_all", 20, 60);
  const auto exchange = t.launch(kSendRecv, 50, 500);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(exchange).mode, Mode::none);
}

TEST(Annotations, AnAllReduceOfACompleteGradientIsDataParallel) {
  constexpr std::string_view kHook = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
  LaunchedTrace t;
  t.add(t.ranges, kHook, 0, 100);
  t.add(t.ranges, kHook, 200, 300);
  t.add(t.ranges, kHook, 400, 500);
  t.add(t.ranges, "FullyShardedDataParallel._post_backward_hook", 410, 490);
  const auto reduced = t.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 50, 600);
  const auto scattered = t.launch("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(int)", 250, 700);
  const auto of_shards = t.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 450, 800);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(reduced).mode, Mode::dp);
  EXPECT_EQ(t.trace.attribution(reduced).confidence_pct, 95);
  EXPECT_EQ(t.trace.tag(scattered).mode, Mode::none) << "it may be FSDP's";
  EXPECT_EQ(t.trace.tag(of_shards).mode, Mode::fsdp) << "of the innermost";
}

TEST(Annotations, OfTorchRecAreOfAModeOfTheirOwn) {
  LaunchedTrace t;
  t.add(t.ranges, "autograd::engine::evaluate_function: All2All_Pooled_WaitBackward", 0, 100);
  t.add(t.ranges, "## alltoall_bwd_single ##", 10, 90);
  t.add(t.ranges, "nccl:all_to_all", 20, 60);
  t.add(t.ranges, "## sparse_data_dist ##", 200, 300);
  t.add(t.ranges, "nccl:all_reduce", 210, 260);
  const auto exchange = t.launch(kSendRecv, 50, 500);
  const auto reduced = t.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 250, 600);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(exchange).mode, Mode::other);
  EXPECT_EQ(t.trace.attribution(exchange).confidence_pct, 90);
  EXPECT_EQ(t.trace.tag(reduced).mode, Mode::none) << "only exchanges";
}

TEST(Annotations, LookPastInnerRangesThatEndedBefore) {
  LaunchedTrace t;
  t.add(t.ranges, "grads-reduce-scatter", 0, 100);
  t.add(t.ranges, "forward-send", 10, 20);
  const auto kernel = t.launch("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(int)", 50, 500);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(kernel).mode, Mode::dp);
}

TEST(Annotations, OfTheDeviceCountWhereNoLaunchIsKnown) {
  LaunchedTrace t;
  t.add(t.on_device, "FSDP::all_gather (layers.3)", 400, 600);
  const auto kernel = t.add(t.stream, "ncclDevKernel_AllGather_RING_LL(int)", 450, 500, Kind::compute);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(kernel).mode, Mode::fsdp);
}

TEST(Annotations, NameTheCollectiveOfAKernelThatSaysOnlySendRecv) {
  LaunchedTrace t;
  t.add(t.ranges, "nccl:all_to_all", 0, 100);
  const auto kernel = t.launch(kSendRecv, 50, 500);
  attribute(t.trace);
  EXPECT_EQ(name_of(t.trace.tag(kernel).purpose), "all_to_all");
}

TEST(Annotations, OfACollectiveTakeAKernelThatLooksLikeOne) {
  LaunchedTrace t;
  t.add(t.ranges, "nccl:all_reduce", 0, 100);
  const auto taken = t.launch("my_fast_all_reduce<8>(int)", 50, 500);
  const auto left = t.launch("my_fast_all_reduce<8>(int)", 150, 600);
  const auto compute = t.launch("void at::native::reduce_kernel<8>(int)", 60, 700);
  const AttributionReport report = attribute(t.trace);
  EXPECT_EQ(t.trace.tag(taken).kind, Kind::communication);
  EXPECT_EQ(t.trace.tag(left).kind, Kind::compute);
  EXPECT_EQ(t.trace.tag(compute).kind, Kind::compute);
  ASSERT_EQ(report.not_taken.size(), 1U);
  EXPECT_EQ(report.not_taken[0].count, 1);
}

TEST(Annotations, SpeakForTheRestOfTheirGroup) {
  LaunchedTrace t;
  const std::string_view all_reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)";
  const auto group = t.trace.add_group({.ranks = {}, .name = intern("0"), .description = intern("default_pg")});
  const auto other = t.trace.add_group({.ranks = {}, .name = intern("1"), .description = intern("default_pg")});
  t.add(t.ranges, "DistributedDataParallel.forward", 0, 100);
  t.trace.set_communication(t.launch("ncclDevKernel_Broadcast_RING_LL(int)", 50, 500),
                            {.group = group, .transfers = {}});
  const auto rest = t.launch(all_reduce, 150, 600);
  t.trace.set_communication(rest, {.group = group, .transfers = {}});
  const auto of_other = t.launch(all_reduce, 160, 700);
  t.trace.set_communication(of_other, {.group = other, .transfers = {}});
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(rest).mode, Mode::none) << "75 % is no fact";
  EXPECT_THAT(name_of(t.trace.attribution(rest).reason),
              ::testing::StartsWith("probably dp: others of its group were launched in"));
  EXPECT_EQ(t.trace.tag(of_other).mode, Mode::none);
}

TEST(Annotations, OfSeveralModesSayNothingOfTheRestOfAGroup) {
  LaunchedTrace t;
  const auto group = t.trace.add_group({.ranks = {}, .name = intern("0"), .description = intern("default_pg")});
  t.add(t.ranges, "grads-reduce-scatter", 0, 100);
  t.add(t.ranges, "embedding-grads-all-reduce", 200, 300);
  std::size_t last = 0;
  for (const std::int64_t at_ns : {50, 250, 400}) {
    last = t.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", at_ns, 10 * at_ns);
    t.trace.set_communication(last, {.group = group, .transfers = {}});
  }
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(last).mode, Mode::none);
}

TEST(Annotations, AreAskedAfterTheRanksOfAGroup) {
  LaunchedTrace t;
  const auto tp = t.trace.add_group({.ranks = {0, 1}, .name = intern("0"), .description = intern("undefined")});
  t.add(t.ranges, "grads-reduce-scatter", 0, 100);
  const auto kernel = t.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 50, 500);
  t.trace.set_communication(kernel, {.group = tp, .transfers = {}});
  attribute(t.trace, {.layouts = testing_support::layouts_of({.tp = 2, .dp = 2}), .mode_map = {}});
  EXPECT_EQ(t.trace.tag(kernel).mode, Mode::tp);
  EXPECT_EQ(t.trace.attribution(kernel).source, AttributionSource::group_geometry);
}

TEST(Annotations, AreNotNeededWhereAllElseOnTheStreamCommunicates) {
  LaunchedTrace t;
  t.add(t.stream, kSendRecv, 0, 10, Kind::compute);
  const auto taken = t.add(t.stream, "my_fast_all_reduce<8>(int)", 20, 30, Kind::compute);
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(taken).kind, Kind::communication);
}

}  // namespace
}  // namespace underlap::attribution
