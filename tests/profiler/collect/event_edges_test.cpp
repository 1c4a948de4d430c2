// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/event_edges.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

namespace underlap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
