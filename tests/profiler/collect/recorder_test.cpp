// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/recorder.hpp"

#include <gmock/gmock.h>

#include "profiler/collect/event_edges.hpp"

namespace underlap {
namespace {

StreamRecorder::Slot slot_at(std::int64_t start_ns) {
  return {.start_ns = start_ns, .end_ns = start_ns + 10, .name = intern("gemm"), .operation = 3, .tag = {.layer = 2}};
}

CommunicationRecord gather(std::uint64_t sequence) {
  return {.group = 1,
          .sequence = sequence,
          .last_arrival_ns = 105,
          .cpu_ns = 4,
          .transfers = {{.collective = Collective::all_gather, .bytes = 64, .bytes_on_wire = 32}}};
}

TEST(Recorder, DrainsEverySliceOnItsOwnStream) {
  Recorder recorder(5);
  StreamRecorder& compute = recorder.add_stream(0, "compute");
  StreamRecorder& gathers = recorder.add_stream(3, "param_all_gather");
  recorder.reserve(4);
  compute.record(slot_at(100));
  gathers.record(slot_at(200));
  compute.record(slot_at(300));
  const Trace trace = recorder.drain().trace;
  EXPECT_EQ(trace.tracks, (std::vector<Track>{{5, 0, "compute"}, {5, 3, "param_all_gather"}}));
  ASSERT_EQ(trace.size(), 3U);
  const Slice second = trace.slice(1);
  EXPECT_EQ(second.track, 0U);
  EXPECT_EQ(second.start_ns, 300);
  EXPECT_EQ(second.duration_ns, 10);
  EXPECT_EQ(second.name, intern("gemm"));
  EXPECT_EQ(second.operation, 3U);
  EXPECT_EQ(second.tag, Tag{.layer = 2});
  EXPECT_EQ(trace.track(2), 1U);
}

TEST(Recorder, CountsASliceWithoutSlotAsDroppedAndKeepsTheOthers) {
  Recorder recorder(0);
  StreamRecorder& full = recorder.add_stream(0, "full");
  StreamRecorder& other = recorder.add_stream(1, "other");
  recorder.reserve(2);
  for (const std::int64_t start : {1, 2, 3}) full.record(slot_at(start));
  full.record(slot_at(4), gather(0));
  other.record(slot_at(5));
  const Recorder::Drained drained = recorder.drain();
  EXPECT_EQ(drained.num_dropped, 2);
  EXPECT_EQ(drained.trace.start_ns(), (std::vector<std::int64_t>{1, 2, 5}));
}

TEST(Recorder, WithoutReserveDropsAll) {
  Recorder recorder(0);
  StreamRecorder& stream = recorder.add_stream(0, "compute");
  stream.record(slot_at(1));
  stream.record(slot_at(2), gather(0));
  EXPECT_EQ(recorder.largest_stream(), 2U) << "what was dropped tells how many slots are needed";
  const Recorder::Drained drained = recorder.drain();
  EXPECT_EQ(drained.num_dropped, 2);
  EXPECT_EQ(drained.trace.size(), 0U);
}

TEST(Recorder, KeepsItsSlotsAfterDrainingAndForgetsWhatWasDropped) {
  Recorder recorder(0);
  StreamRecorder& stream = recorder.add_stream(0, "compute");
  recorder.reserve(2);
  for (int block = 0; block < 3; ++block) {
    for (const std::int64_t start : {1, 2, 3}) stream.record(slot_at(start));
    EXPECT_EQ(recorder.largest_stream(), 3U);
    const Recorder::Drained drained = recorder.drain();
    EXPECT_EQ(drained.trace.size(), 2U) << "block " << block;
    EXPECT_EQ(drained.num_dropped, 1) << "block " << block;
    EXPECT_EQ(recorder.largest_stream(), 0U);
  }
}

TEST(Recorder, ReservesOnEveryStream) {
  Recorder recorder(0);
  StreamRecorder& first = recorder.add_stream(0, "a");
  StreamRecorder& second = recorder.add_stream(1, "b");
  recorder.reserve(100);
  for (std::int64_t i = 0; i < 100; ++i) {
    first.record(slot_at(i));
    second.record(slot_at(i), gather(0));
  }
  EXPECT_EQ(recorder.largest_stream(), 100U);
  EXPECT_EQ(recorder.drain().num_dropped, 0);
}

TEST(Recorder, CarriesTheRecordOfEachCommunication) {
  Recorder recorder(0);
  StreamRecorder& stream = recorder.add_stream(1, "dp");
  recorder.reserve(4);
  for (int block = 0; block < 2; ++block) {
    stream.record(slot_at(100), gather(7));
    stream.record(slot_at(110));
    stream.record(slot_at(120), gather(8));
    const Trace trace = recorder.drain().trace;
    ASSERT_NE(trace.communication(0), nullptr);
    EXPECT_EQ(*trace.communication(0), gather(7));
    EXPECT_EQ(trace.communication(1), nullptr);
    ASSERT_NE(trace.communication(2), nullptr);
    EXPECT_EQ(*trace.communication(2), gather(8));
  }
}

TEST(Recorder, EveryTraceKnowsTheGroupsThatItsRecordsName) {
  Recorder recorder(0);
  StreamRecorder& stream = recorder.add_stream(1, "dp");
  const GroupRecord all{.purpose = intern("grad_reduce_scatter"), .ranks = {0, 1, 2}};
  const GroupRecord pair{.purpose = intern("param_all_gather"), .ranks = {0, 2}};
  EXPECT_EQ(recorder.add_group(all), 0U);
  EXPECT_EQ(recorder.add_group(pair), 1U);
  recorder.reserve(1);
  for (int block = 0; block < 2; ++block) {
    stream.record(slot_at(1), gather(0));
    const Trace trace = recorder.drain().trace;
    ASSERT_EQ(trace.groups.size(), 2U);
    EXPECT_EQ(trace.groups[trace.communication(0)->group], pair);
  }
}

TEST(Recorder, StreamsStayWhereTheyAreWhenOthersAreAdded) {
  Recorder recorder(0);
  StreamRecorder& first = recorder.add_stream(0, "first");
  for (std::uint32_t i = 1; i < 100; ++i) recorder.add_stream(i, "more");
  recorder.reserve(1);
  first.record(slot_at(42));
  const Trace trace = recorder.drain().trace;
  EXPECT_EQ(trace.tracks.size(), 100U);
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace.track(0), 0U);
}

using namespace ::testing;  // NOLINT

std::vector<Flow> flows_of(const EventEdges& edges, const std::vector<std::vector<std::uint32_t>>& slices) {
  Trace trace;
  edges.append_flows(trace, slices);
  return trace.flows;
}

TEST(EventEdges, LeadFromTheLastOperationBeforeTheEventToTheNextAfterTheWait) {
  EventEdges edges;
  edges.add_operation(0, 1);
  edges.add_operation(0, 3);  // command 2 is no operation
  edges.add_operation(1, 1);
  edges.add_wait(1, 0, 2);
  edges.add_operation(1, 3);
  EXPECT_THAT(flows_of(edges, {{10, 11}, {20, 21}}), ElementsAre(Flow{10, 21, FlowKind::dependency}));
}

TEST(EventEdges, LeaveOutWaitsThatAnEarlierOneImplies) {
  EventEdges edges;
  edges.add_operation(0, 1);
  edges.add_operation(0, 2);
  edges.add_wait(1, 0, 2);
  edges.add_operation(1, 2);
  edges.add_wait(1, 0, 1);
  edges.add_wait(1, 0, 2);
  edges.add_operation(1, 5);
  EXPECT_THAT(flows_of(edges, {{10, 11}, {20, 21}}), ElementsAre(Flow{11, 20, FlowKind::dependency}));
}

TEST(EventEdges, GiveOneFlowForSeveralCausesBetweenTheSameWork) {
  EventEdges edges;
  edges.add_operation(0, 1);
  edges.add_operation(0, 2);
  edges.add_wait(1, 0, 1);
  edges.add_operation(1, 2);
  edges.add_cause({0, 0}, {1, 0}, FlowKind::resource);
  edges.add_cause({0, 1}, {1, 0}, FlowKind::resource);
  EXPECT_THAT(flows_of(edges, {{10, 11}, {20}}),
              ElementsAre(Flow{10, 20, FlowKind::dependency}, Flow{11, 20, FlowKind::resource}));
  edges.add_cause({0, 0}, {1, 0}, FlowKind::host);
  EXPECT_THAT(flows_of(edges, {{10, 11}, {20}}),
              ElementsAre(Flow{10, 20, FlowKind::host}, Flow{11, 20, FlowKind::resource}));
}

TEST(EventEdges, DropWhatHasNoSlice) {
  EventEdges edges;
  edges.add_wait(1, 0, 0);  // before any operation
  edges.add_operation(0, 1);
  edges.add_wait(1, 0, 1);
  edges.add_operation(1, 2);
  EXPECT_THAT(flows_of(edges, {{EventEdges::kNoSlice}, {20}}), IsEmpty());
  EXPECT_THAT(flows_of(edges, {{10}, {}}), IsEmpty());
  edges.clear();
  EXPECT_THAT(flows_of(edges, {{10}, {20}}), IsEmpty());
}

}  // namespace
}  // namespace underlap
