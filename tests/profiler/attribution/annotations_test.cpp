// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/annotations.hpp"

#include <gmock/gmock.h>

#include "profiler/attribution/attribution.hpp"
#include "tests/profiler/attribution/layouts.hpp"
#include "tests/profiler/slices.hpp"

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
    trace.add(testing_support::foreign_slice(track, start_ns, end_ns, name, kind));
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

constexpr std::string_view kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)";
constexpr std::string_view kReduceScatter = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(int)";

TEST(Annotations, TellTheModeOfWhatIsLaunchedInThem) {
  constexpr const char* kHook = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
  struct Range {
    const char* name;
    std::int64_t begin, end;
  };
  struct Launch {
    std::string_view kernel;
    std::int64_t at;
    Mode mode;
  };
  struct Case {
    const char* name;
    std::vector<Range> ranges;
    std::vector<Launch> launches;
  };
  const std::vector<Case> cases{
      {"FSDP and a pipeline",
       {{"FSDP::post_backward_reduce", 0, 100}, {"nccl:_reduce_scatter_base", 10, 20}, {"forward-send", 200, 300}},
       {{kReduceScatter, 15, Mode::fsdp}, {kSendRecv, 250, Mode::pp}, {kSendRecv, 150, Mode::none}}},
      {"a whole forward pass says nothing of what the model exchanges",
       {{"DistributedDataParallel.forward", 0, 100}, {"nccl:all_to_all", 20, 60}},
       {{kSendRecv, 50, Mode::none}}},
      {"an all-reduce of a complete gradient is data-parallel, a reduce-scatter may be FSDP's, the innermost range "
       "counts",
       {{kHook, 0, 100},
        {kHook, 200, 300},
        {kHook, 400, 500},
        {"FullyShardedDataParallel._post_backward_hook", 410, 490}},
       {{kAllReduce, 50, Mode::dp}, {kReduceScatter, 250, Mode::none}, {kAllReduce, 450, Mode::fsdp}}},
      {"only exchanges of TorchRec are of a mode of their own",
       {{"autograd::engine::evaluate_function: All2All_Pooled_WaitBackward", 0, 100},
        {"## alltoall_bwd_single ##", 10, 90},
        {"nccl:all_to_all", 20, 60},
        {"## sparse_data_dist ##", 200, 300},
        {"nccl:all_reduce", 210, 260}},
       {{kSendRecv, 50, Mode::other}, {kAllReduce, 250, Mode::none}}},
      {"inner ranges that ended before are passed over",
       {{"grads-reduce-scatter", 0, 100}, {"forward-send", 10, 20}},
       {{kReduceScatter, 50, Mode::dp}}},
  };
  for (const Case& c : cases) {
    LaunchedTrace t;
    for (const Range& range : c.ranges) t.add(t.ranges, range.name, range.begin, range.end);
    std::vector<std::size_t> kernels;
    for (const Launch& launch : c.launches) kernels.push_back(t.launch(launch.kernel, launch.at, 1000 + launch.at));
    attribute(t.trace);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      EXPECT_EQ(t.trace.tag(kernels[i]).mode, c.launches[i].mode) << c.name << ", at " << c.launches[i].at;
  }
}

TEST(Annotations, SayHowSureTheyAreAndWhy) {
  LaunchedTrace t;
  t.add(t.ranges, "FSDP::post_backward_reduce", 0, 100);
  t.add(t.ranges, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 200, 300);
  t.add(t.ranges, "## alltoall_bwd_single ##", 400, 500);
  t.add(t.ranges, "nccl:all_to_all", 420, 480);
  const auto of_fsdp = t.launch(kReduceScatter, 50, 600), of_gradient = t.launch(kAllReduce, 250, 700),
             of_torchrec = t.launch(kSendRecv, 450, 800);
  attribute(t.trace);
  EXPECT_EQ(t.trace.attribution(of_fsdp).source, AttributionSource::annotation);
  EXPECT_EQ(name_of(t.trace.attribution(of_fsdp).reason), "it was launched in FSDP::post_backward_reduce");
  EXPECT_EQ(t.trace.attribution(of_gradient).confidence_pct, 95);
  EXPECT_EQ(t.trace.attribution(of_torchrec).confidence_pct, 90);
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
  const auto group = t.trace.add_group({.ranks = {}, .name = intern("0"), .description = intern("default_pg")});
  const auto other = t.trace.add_group({.ranks = {}, .name = intern("1"), .description = intern("default_pg")});
  t.add(t.ranges, "DistributedDataParallel.forward", 0, 100);
  t.trace.set_communication(t.launch("ncclDevKernel_Broadcast_RING_LL(int)", 50, 500),
                            {.group = group, .transfers = {}});
  const auto rest = t.launch(kAllReduce, 150, 600);
  t.trace.set_communication(rest, {.group = group, .transfers = {}});
  const auto of_other = t.launch(kAllReduce, 160, 700);
  t.trace.set_communication(of_other, {.group = other, .transfers = {}});
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(rest).mode, Mode::none) << "75 % is no fact";
  EXPECT_THAT(name_of(t.trace.attribution(rest).reason),
              ::testing::StartsWith("probably dp: others in its group were launched in"));
  EXPECT_EQ(t.trace.tag(of_other).mode, Mode::none);
}

TEST(Annotations, OfSeveralModesSayNothingOfTheRestOfAGroup) {
  LaunchedTrace t;
  const auto group = t.trace.add_group({.ranks = {}, .name = intern("0"), .description = intern("default_pg")});
  t.add(t.ranges, "grads-reduce-scatter", 0, 100);
  t.add(t.ranges, "embedding-grads-all-reduce", 200, 300);
  std::size_t last = 0;
  for (const std::int64_t at_ns : {50, 250, 400}) {
    last = t.launch(kAllReduce, at_ns, 10 * at_ns);
    t.trace.set_communication(last, {.group = group, .transfers = {}});
  }
  attribute(t.trace);
  EXPECT_EQ(t.trace.tag(last).mode, Mode::none);
}

TEST(Annotations, AreAskedAfterTheRanksOfAGroup) {
  LaunchedTrace t;
  const auto tp = t.trace.add_group({.ranks = {0, 1}, .name = intern("0"), .description = intern("undefined")});
  t.add(t.ranges, "grads-reduce-scatter", 0, 100);
  const auto kernel = t.launch(kAllReduce, 50, 500);
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
