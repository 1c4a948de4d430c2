// SPDX-License-Identifier: Apache-2.0
// Deadlocks, transfers whose sides do not fit or never come, and orders of issue, on two to four ranks.
#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/impl/device/check/rank_programs.hpp"

namespace underlap::check {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::size_t at(std::int32_t rank) { return static_cast<std::size_t>(rank); }

// Makes every stream of a communicator come after the tensors' first write.
void order_all(RankPrograms& ranks, const std::vector<Communicator>& group) {
  for (std::int32_t i = 0; i < ranks.size(); ++i) ranks[i].order(group[at(i)].stream, ranks[i].a);
}

// Each rank sends to the next and receives from the one before, the sends of odd ranks second where `alternates`.
RankPrograms ring(std::int32_t size, bool alternates) {
  RankPrograms ranks(size);
  const auto group = ranks.declare("ring");
  order_all(ranks, group);
  for (std::int32_t i = 0; i < size; ++i) {
    const auto send = [&] { ranks[i].send(group[at(i)], "send", (i + 1) % size, flat(ranks[i].x, 0, 8)); };
    const auto receive = [&] {
      ranks[i].receive(group[at(i)], "receive", (i + size - 1) % size, flat(ranks[i].x, 8, 8));
    };
    const bool sends_first = !alternates || i % 2 == 0;
    if (sends_first) send();
    receive();
    if (!sends_first) send();
  }
  return ranks;
}

TEST(Deadlocks, RingInWhichAllSendFirst) {
  EXPECT_THAT(ring(2, false).findings(),
              Contains("deadlock: rank 0 ring: send waits for rank 1; rank 1 ring: send waits for rank 0 | break the "
                       "circle: let all ranks enqueue these in one order, or give them streams of their own"));
  EXPECT_THAT(ring(4, false).findings(),
              Contains(HasSubstr("rank 0 ring: send waits for rank 1; rank 1 ring: send waits for rank 2; rank 2 ring: "
                                 "send waits for rank 3; rank 3 ring: send waits for rank 0")));
}

TEST(Deadlocks, LongCircleIsShortened) {
  const CheckReport report = ring(40, false).report();
  ASSERT_EQ(report.findings.at(0).kind, FindingKind::deadlock);
  EXPECT_THAT(
      report.findings[0].what,
      testing::AllOf(testing::StartsWith("rank 0 ring: send waits for rank 1; "),
                     HasSubstr("waits for rank 6; (29 more in between); rank 35 ring: send waits for rank 36; "),
                     testing::EndsWith("; rank 39 ring: send waits for rank 0")));
  EXPECT_EQ(report.findings[0].commands.size(), 40U);
}

TEST(Deadlocks, RingInWhichOddRanksReceiveFirstRuns) {
  EXPECT_THAT(ring(2, true).findings(), IsEmpty());
  EXPECT_THAT(ring(4, true).findings(), IsEmpty());
}

TEST(Deadlocks, RingOfOneGroupARankRuns) {
  RankPrograms ranks(3);
  const auto group = ranks.declare("ring");
  order_all(ranks, group);
  for (std::int32_t i = 0; i < 3; ++i)
    ranks[i].communicate(
        group[at(i)], "hop",
        {{.collective = Collective::send, .input = flat(ranks[i].x, 0, 8), .output = {}, .peer = (i + 1) % 3},
         {.collective = Collective::receive, .input = {}, .output = flat(ranks[i].x, 8, 8), .peer = (i + 2) % 3}});
  EXPECT_THAT(ranks.findings(), IsEmpty());
}

TEST(Deadlocks, PipelineRuns) {
  RankPrograms ranks(3);
  const Communicator first = ranks[0].device.declare("forward", {{0, 1}, 0});
  const Communicator first_end = ranks[1].device.declare("forward", {{0, 1}, 1});
  const Communicator second = ranks[1].device.declare("forward", {{1, 2}, 0});
  const Communicator second_end = ranks[2].device.declare("forward", {{1, 2}, 1});
  ranks[0].order(first.stream, ranks[0].a);
  ranks[1].order(first_end.stream, ranks[1].a);
  ranks[2].order(second_end.stream, ranks[2].a);
  for (std::int64_t m = 0; m < 4; ++m) {
    ranks[0].send(first, "send_forward", 1, flat(ranks[0].x, m, 1));
    ranks[1].receive(first_end, "recv_forward", 0, flat(ranks[1].x, m, 1));
    ranks[1].order(second.stream, first_end.stream);
    ranks[1].send(second, "send_forward", 1, flat(ranks[1].x, m, 1));
    ranks[2].receive(second_end, "recv_forward", 0, flat(ranks[2].x, m, 1));
  }
  EXPECT_THAT(ranks.findings(), IsEmpty());
}

// On each rank one collective waits, through an event, for the other, and the ranks do not agree which.
TEST(Deadlocks, EventsOfTwoRanksThatContradictEachOther) {
  RankPrograms ranks(2);
  const auto one = ranks.declare("one");
  const auto two = ranks.declare("two");
  order_all(ranks, one);
  order_all(ranks, two);
  for (std::int32_t i = 0; i < 2; ++i) {
    const auto& first = i == 0 ? one : two;
    const auto& second = i == 0 ? two : one;
    ranks[i].all_reduce(first[at(i)], i == 0 ? "sum_one" : "sum_two", flat(ranks[i].x, i == 0 ? 0 : 8, 8));
    ranks[i].order(second[at(i)].stream, first[at(i)].stream);
    ranks[i].all_reduce(second[at(i)], i == 0 ? "sum_two" : "sum_one", flat(ranks[i].x, i == 0 ? 8 : 0, 8));
  }
  EXPECT_THAT(
      ranks.findings(),
      ElementsAre("deadlock: rank 0 one: sum_one waits for rank 1; rank 1 one: wait for two; rank 1 two: sum_two waits "
                  "for rank 0; rank 0 two: wait for one | break the circle: let all ranks enqueue these in one order, "
                  "or give them streams of their own",
                  "issue_order: rank 0 one: sum_one before two: sum_two, but rank 1 two: sum_two before one: sum_one | "
                  "let all ranks issue these transfers in one order"));
}

// The ranks issue two collectives in different orders, and something on the stream of the first behind it.
RankPrograms crossed() {
  RankPrograms ranks(2);
  const auto one = ranks.declare("one");
  const auto two = ranks.declare("two");
  order_all(ranks, one);
  order_all(ranks, two);
  for (std::int32_t i = 0; i < 2; ++i)
    for (const auto* group : {i == 0 ? &one : &two, i == 0 ? &two : &one}) {
      const View part = flat(ranks[i].x, group == &one ? 0 : 8, 8);
      ranks[i].all_reduce((*group)[at(i)], group == &one ? "sum_one" : "sum_two", part);
      ranks[i].read((*group)[at(i)].stream, "use", part);
    }
  return ranks;
}

TEST(Deadlocks, OneHardwareQueueHoldsUpWhatManyDoNot) {
  EXPECT_THAT(crossed().findings({.connections = {0, 8}}), ElementsAre(testing::StartsWith("issue_order: ")));
  EXPECT_THAT(
      crossed().findings({.connections = {8, 1}}),
      Contains(testing::StartsWith(
          "deadlock: rank 0 one: sum_one waits for rank 1; rank 1 one: sum_one is behind two: use in hardware queue "
          "0; rank 1 two: sum_two waits for rank 0; rank 0 two: sum_two is behind one: use in hardware queue 0 (on 1 "
          "hardware queue)")))
      << testing::PrintToString(crossed().findings({.connections = {8, 1}}));
}

TEST(Deadlocks, FullLaunchQueueHoldsUpTheHost) {
  const auto findings = crossed().findings({.connections = {1}, .launch_queue_depth = 1});
  EXPECT_THAT(findings, Contains(HasSubstr("host: cannot enqueue")));
  EXPECT_THAT(findings, Contains(HasSubstr("since hardware queue 0 holds 1 commands")));
}

TEST(Deadlocks, HostThatSynchronizesBeforeItEnqueuesWhatAPeerWaitsFor) {
  RankPrograms ranks(2);
  const auto one = ranks.declare("one");
  const auto two = ranks.declare("two");
  order_all(ranks, one);
  order_all(ranks, two);
  for (std::int32_t i = 0; i < 2; ++i) {
    const auto& first = i == 0 ? one : two;
    const auto& second = i == 0 ? two : one;
    ranks[i].all_reduce(first[at(i)], "sum", flat(ranks[i].x, i == 0 ? 0 : 8, 8));
    ranks[i].device.synchronize(ranks[i].device.record(first[at(i)].stream));
    ranks[i].all_reduce(second[at(i)], "sum", flat(ranks[i].x, i == 0 ? 8 : 0, 8));
  }
  EXPECT_THAT(ranks.findings(),
              Contains(testing::StartsWith(
                  "deadlock: rank 0 one: sum waits for rank 1; rank 1 one: sum is not enqueued yet; rank 1 host: wait "
                  "for two; rank 1 two: sum waits for rank 0; rank 0 two: sum is not enqueued yet; rank 0 host: wait "
                  "for one |")));
}

TEST(Deadlocks, APaceHoldsUpAsAWaitDoes) {
  RankPrograms ranks(2);
  const auto one = ranks.declare("one");
  const auto two = ranks.declare("two");
  order_all(ranks, one);
  order_all(ranks, two);
  for (std::int32_t i = 0; i < 2; ++i) {
    const auto& first = i == 0 ? one : two;
    const auto& second = i == 0 ? two : one;
    ranks[i].all_reduce(first[at(i)], "sum", flat(ranks[i].x, i == 0 ? 0 : 8, 8));
    ranks[i].device.throttle(second[at(i)].stream, ranks[i].device.record(first[at(i)].stream));
    ranks[i].all_reduce(second[at(i)], "sum", flat(ranks[i].x, i == 0 ? 8 : 0, 8));
  }
  EXPECT_THAT(ranks.findings(), Contains(testing::StartsWith("deadlock: ")));
}

TEST(Unmatched, MemberThatNeverComesIsNamed) {
  RankPrograms ranks(3);
  const auto group = ranks.declare("tp");
  order_all(ranks, group);
  for (std::int32_t i = 0; i < 2; ++i) ranks[i].all_reduce(group[at(i)], "sum", flat(ranks[i].x));
  EXPECT_THAT(ranks.findings(),
              ElementsAre("unmatched: rank 0 tp: sum waits for rank 2, which never joins it | let rank "
                          "2 enqueue its side on tp, or leave out that of rank 0"));
}

TEST(Unmatched, SendThatNobodyReceivesAndReceiveThatNobodySends) {
  RankPrograms ranks(2);
  const auto there = ranks.declare("there");
  const auto back = ranks.declare("back");
  order_all(ranks, there);
  order_all(ranks, back);
  ranks[0].send(there[0], "ask", 1, flat(ranks[0].x));
  ranks[0].receive(back[0], "answer", 1, flat(ranks[0].x, 0, 8));
  const auto findings = ranks.findings();
  EXPECT_THAT(findings, Contains(HasSubstr("rank 0 there: ask waits for rank 1, which never receives it")));
  EXPECT_THAT(findings, Contains(HasSubstr("rank 0 back: answer waits for rank 1, which never sends it")));
}

TEST(Unmatched, PeerOutsideTheGroupIsIllegal) {
  RankPrograms ranks(2);
  const auto group = ranks.declare("tp");
  order_all(ranks, group);
  ranks[0].send(group[0], "ask", 2, flat(ranks[0].x));
  EXPECT_THAT(ranks.findings(),
              ElementsAre("illegal_use: rank 0 tp: ask: send of 64 elements to 0: no peer 2 in a group "
                          "of 2 | give the transfer views that fit it"));
}

// What two ranks put into one transfer.
std::vector<std::string> findings_of(const Transfer& of_rank_0, const Transfer& of_rank_1) {
  RankPrograms ranks(2);
  const auto group = ranks.declare("tp");
  order_all(ranks, group);
  const Transfer* transfers[] = {&of_rank_0, &of_rank_1};
  for (std::int32_t i = 0; i < 2; ++i) ranks[i].communicate(group[at(i)], "meet", {*transfers[i]});
  return ranks.findings();
}

Transfer all_reduce_of(std::int64_t elements) {
  const View view = flat(Tensor{1, DataType::f32, 64}, 0, elements);
  return {.collective = Collective::all_reduce, .input = view, .output = view};
}

TEST(Mismatches, AreNamedWithBothSides) {
  EXPECT_THAT(findings_of(all_reduce_of(8), all_reduce_of(8)), IsEmpty());
  EXPECT_THAT(
      findings_of(all_reduce_of(8), all_reduce_of(7)),
      ElementsAre("mismatch: rank 1 tp: meet has 7 to 7 f32 elements where rank 0 tp: meet has 8 to 8 f32 elements "
                  "| let all sides of a transfer declare the same, in the same order"));
  Transfer other = all_reduce_of(8);
  other.op = ReduceOp::average;
  EXPECT_THAT(findings_of(all_reduce_of(8), other),
              ElementsAre(HasSubstr("rank 1 tp: meet has average where rank 0 tp: meet has sum")));
  other.op = ReduceOp::max;
  EXPECT_THAT(findings_of(other, all_reduce_of(8)),
              ElementsAre(HasSubstr("rank 1 tp: meet has sum where rank 0 tp: meet has max")));
  Transfer exact = all_reduce_of(8);
  exact.accumulator = Accumulator::fp32;
  EXPECT_THAT(findings_of(exact, all_reduce_of(8)), ElementsAre(HasSubstr("has a sum held in wire where")));
  Transfer broadcast = all_reduce_of(8);
  broadcast.collective = Collective::broadcast;
  broadcast.peer = 0;
  EXPECT_THAT(findings_of(broadcast, all_reduce_of(8)),
              ElementsAre(HasSubstr("has all_reduce where rank 0 tp: meet has broadcast")));
  Transfer from_1 = broadcast;
  from_1.peer = 1;
  EXPECT_THAT(findings_of(broadcast, from_1), ElementsAre(HasSubstr("has root 1 where rank 0 tp: meet has root 0")));
}

TEST(Mismatches, SendAndReceiveOfDifferentSizes) {
  const View view = flat(Tensor{1, DataType::f32, 64}, 0, 8);
  const View less = flat(Tensor{1, DataType::f32, 64}, 0, 6);
  EXPECT_THAT(findings_of({.collective = Collective::send, .input = view, .output = {}, .peer = 1},
                          {.collective = Collective::receive, .input = {}, .output = less, .peer = 0}),
              ElementsAre(HasSubstr("rank 1 tp: meet has 6 f32 elements where rank 0 tp: meet has 8 f32 elements")));
}

TEST(Communicators, ThatAMemberNeverDeclares) {
  RankPrograms ranks(2);
  ranks[0].device.declare("tp", ranks.group(0));
  EXPECT_THAT(ranks.findings(),
              ElementsAre("communicator: rank 1 never declares tp, which rank 0 declares for the ranks "
                          "0, 1 | declare a communicator on all of its members, with the same members "
                          "in the same order"));
}

TEST(Communicators, DeclaredInTwoOrders) {
  RankPrograms ranks(2);
  for (std::int32_t i = 0; i < 2; ++i)
    for (const char* purpose : {i == 0 ? "one" : "two", i == 0 ? "two" : "one"})
      ranks[i].device.declare(purpose, ranks.group(i));
  EXPECT_THAT(ranks.findings(),
              ElementsAre("communicator: rank 0 declares one before two, rank 1 declares two before one "
                          "| declare the communicators of all ranks in one order"));
}

TEST(Communicators, OfRanksWithoutAProgramAreBadInput) {
  RankPrograms ranks(1);
  ranks[0].device.declare("tp", {{0, 1}, 0});
  EXPECT_THROW(ranks.findings(), std::invalid_argument);
  RankPrograms others(2);
  others[0].device.declare("tp", others.group(1));
  EXPECT_THROW(others.findings(), std::invalid_argument);
}

TEST(IssueOrder, OfGroupsThatOverlapInACircle) {
  RankPrograms ranks(3);
  const char* const names[] = {"01", "12", "20"};
  std::vector<std::vector<Communicator>> of_rank(3);
  for (std::int32_t pair = 0; pair < 3; ++pair)
    for (std::int32_t side = 0; side < 2; ++side) {
      const std::int32_t rank = (pair + side) % 3;
      of_rank[at(rank)].push_back(ranks[rank].device.declare(names[pair], {{pair, (pair + 1) % 3}, side}));
    }
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    auto& own = of_rank[at(rank)];
    if (rank == 0) std::swap(own[0], own[1]);  // rank 0: 20 before 01; 1: 01 before 12; 2: 12 before 20
    for (std::size_t i = 0; i < 2; ++i) {
      ranks[rank].order(own[i].stream, ranks[rank].a);
      ranks[rank].all_reduce(own[i], "sum", flat(ranks[rank].x, 8 * static_cast<std::int64_t>(i), 8));
    }
  }
  const CheckReport report = ranks.report();
  ASSERT_EQ(report.findings.size(), 1U) << testing::PrintToString(ranks.findings());
  EXPECT_EQ(report.findings[0].kind, FindingKind::issue_order);
  EXPECT_EQ(report.findings[0].commands.size(), 6U) << "two on each rank";
}

}  // namespace
}  // namespace underlap::check
