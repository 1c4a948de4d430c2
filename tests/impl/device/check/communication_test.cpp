// SPDX-License-Identifier: Apache-2.0
// Deadlocks, transfers whose sides do not fit or never come, and orders of issue, on two to four ranks.
#include <functional>
#include <stdexcept>
#include <tuple>

#include "tests/impl/device/check/rank_programs.hpp"
#include "tests/testing.hpp"

namespace underlap::check {
namespace {

std::size_t at(std::int32_t rank) { return static_cast<std::size_t>(rank); }

// Makes every stream of a communicator come after the tensors' first write.
void order_all(RankPrograms& ranks, const std::vector<Communicator>& group) {
  for (std::int32_t i = 0; i < ranks.size(); ++i) ranks[i].order(group[at(i)].stream, ranks[i].a);
}

/// Each rank's send to the next one, and receive from the one before, of a ring of `size`.
Transfer sent(const RankPrograms::Rank& rank, std::int32_t i, std::int32_t size) {
  return send_to((i + 1) % size, flat(rank.x, 0, 8));
}
Transfer received(const RankPrograms::Rank& rank, std::int32_t i, std::int32_t size) {
  return receive_from((i + size - 1) % size, flat(rank.x, 8, 8));
}

// The sends of odd ranks come second where `alternates`.
RankPrograms ring(std::int32_t size, bool alternates) {
  RankPrograms ranks(size);
  const auto group = ranks.declare("ring");
  order_all(ranks, group);
  for (std::int32_t i = 0; i < size; ++i) {
    const bool sends_first = !alternates || i % 2 == 0;
    if (sends_first) ranks[i].communicate(group[at(i)], "send", {sent(ranks[i], i, size)});
    ranks[i].communicate(group[at(i)], "receive", {received(ranks[i], i, size)});
    if (!sends_first) ranks[i].communicate(group[at(i)], "send", {sent(ranks[i], i, size)});
  }
  return ranks;
}

TEST(Deadlocks, RingInWhichAllSendFirst) {
  EXPECT_THAT(ring(2, false).findings(),
              Contains("deadlock: rank 0 ring: send waits for rank 1; rank 1 ring: send waits for rank 0 | break the "
                       "cycle: enqueue these in the same order on all ranks, or use separate streams"));
  EXPECT_THAT(ring(4, false).findings(),
              Contains(HasSubstr("rank 0 ring: send waits for rank 1; rank 1 ring: send waits for rank 2; rank 2 ring: "
                                 "send waits for rank 3; rank 3 ring: send waits for rank 0")));
  const Finding shortened = ring(40, false).report().findings.at(0);
  EXPECT_EQ(shortened.kind, FindingKind::deadlock);
  EXPECT_THAT(shortened.what,
              AllOf(StartsWith("rank 0 ring: send waits for rank 1; "),
                    HasSubstr("waits for rank 6; (29 more in between); rank 35 ring: send waits for rank 36; "),
                    EndsWith("; rank 39 ring: send waits for rank 0")));
  EXPECT_EQ(shortened.commands.size(), 40U);
}

TEST(Deadlocks, RingsInWhichSomebodyReceivesOrAllDoBothAtOnceRun) {
  EXPECT_THAT(ring(2, true).findings(), IsEmpty());
  EXPECT_THAT(ring(4, true).findings(), IsEmpty());
  RankPrograms at_once(3);
  const auto group = at_once.declare("ring");
  order_all(at_once, group);
  for (std::int32_t i = 0; i < 3; ++i)
    at_once[i].communicate(group[at(i)], "hop", {sent(at_once[i], i, 3), received(at_once[i], i, 3)});
  EXPECT_THAT(at_once.findings(), IsEmpty());
}

TEST(Deadlocks, PipelineRuns) {
  RankPrograms ranks(3);
  const Communicator first = ranks[0].device.declare("forward", {{0, 1}, 0});
  const Communicator first_end = ranks[1].device.declare("forward", {{0, 1}, 1});
  const Communicator second = ranks[1].device.declare("forward", {{1, 2}, 0});
  const Communicator second_end = ranks[2].device.declare("forward", {{1, 2}, 1});
  order_all(ranks, {first, first_end, second_end});
  for (std::int64_t m = 0; m < 4; ++m) {
    ranks[0].send(first, "send_forward", 1, flat(ranks[0].x, m, 1));
    ranks[1].receive(first_end, "recv_forward", 0, flat(ranks[1].x, m, 1));
    ranks[1].order(second.stream, first_end.stream);
    ranks[1].send(second, "send_forward", 1, flat(ranks[1].x, m, 1));
    ranks[2].receive(second_end, "recv_forward", 0, flat(ranks[2].x, m, 1));
  }
  EXPECT_THAT(ranks.findings(), IsEmpty());
}

// Two collectives, which the ranks issue in different orders, with something between them; `reads` what each gave.
RankPrograms crossed(const std::function<void(RankPrograms::Rank&, Stream first, Stream second)>& between,
                     bool reads = false) {
  RankPrograms ranks(2);
  const auto one = ranks.declare("one"), two = ranks.declare("two");
  order_all(ranks, one);
  order_all(ranks, two);
  for (std::int32_t i = 0; i < 2; ++i) {
    const auto reduce = [&](bool is_one) {
      const Communicator& group = (is_one ? one : two)[at(i)];
      const View part = flat(ranks[i].x, is_one ? 0 : 8, 8);
      ranks[i].all_reduce(group, is_one ? "sum_one" : "sum_two", part);
      if (reads) ranks[i].read(group.stream, "use", part);
      return group.stream;
    };
    const Stream first = reduce(i == 0);
    if (between) between(ranks[i], first, (i == 0 ? two : one)[at(i)].stream);
    reduce(i == 1);
  }
  return ranks;
}

TEST(Deadlocks, EventsOfTwoRanksThatContradictEachOther) {
  const RankPrograms ranks = crossed([](auto& rank, Stream first, Stream second) { rank.order(second, first); });
  EXPECT_THAT(
      ranks.findings(),
      ElementsAre("deadlock: rank 0 one: sum_one waits for rank 1; rank 1 one: wait for two; rank 1 two: sum_two waits "
                  "for rank 0; rank 0 two: wait for one | break the cycle: enqueue these in the same order on all "
                  "ranks, or use separate streams",
                  "issue_order: rank 0 one: sum_one before two: sum_two, but rank 1 two: sum_two before one: sum_one | "
                  "enqueue these transfers in the same order on all ranks"));
}

TEST(Deadlocks, OneHardwareQueueHoldsUpWhatManyDoNot) {
  EXPECT_THAT(crossed({}, true).findings({.connections = {0, 8}}), ElementsAre(StartsWith("issue_order: ")));
  EXPECT_THAT(crossed({}, true).findings({.connections = {8, 1}}),
              Contains(StartsWith("deadlock: rank 0 one: sum_one waits for rank 1; rank 1 one: sum_one is queued after "
                                  "two: use in hardware queue "
                                  "0; rank 1 two: sum_two waits for rank 0; rank 0 two: sum_two is queued after one: "
                                  "use in hardware queue 0 (on 1 "
                                  "hardware queue)")));
}

TEST(Deadlocks, FullLaunchQueueHoldsUpTheHost) {
  const auto findings = crossed({}, true).findings({.connections = {1}, .launch_queue_depth = 1});
  EXPECT_THAT(findings, Contains(HasSubstr("host: cannot enqueue")));
  EXPECT_THAT(findings, Contains(HasSubstr("since hardware queue 0 holds 1 commands")));
}

TEST(Deadlocks, HostThatSynchronizesBeforeItEnqueuesWhatAPeerWaitsFor) {
  const RankPrograms ranks =
      crossed([](auto& rank, Stream first, Stream) { rank.device.synchronize(rank.device.record(first)); });
  EXPECT_THAT(ranks.findings(),
              Contains(StartsWith(
                  "deadlock: rank 0 one: sum_one waits for rank 1; rank 1 one: sum_one is not enqueued yet; rank 1 "
                  "host: wait for two; rank 1 two: sum_two waits for rank 0; rank 0 two: sum_two is not enqueued yet; "
                  "rank 0 host: wait for one |")));
}

TEST(Deadlocks, APaceHoldsUpAsAWaitDoes) {
  const RankPrograms ranks =
      crossed([](auto& rank, Stream first, Stream second) { rank.device.throttle(second, rank.device.record(first)); });
  EXPECT_THAT(ranks.findings(), Contains(StartsWith("deadlock: ")));
}

TEST(Unmatched, MemberThatNeverComesIsNamed) {
  RankPrograms ranks(3);
  const auto group = ranks.declare("tp");
  order_all(ranks, group);
  for (std::int32_t i = 0; i < 2; ++i) ranks[i].all_reduce(group[at(i)], "sum", flat(ranks[i].x));
  EXPECT_THAT(ranks.findings(), ElementsAre("unmatched: rank 0 tp: sum waits for rank 2, which never joins it | "
                                            "enqueue the matching call of rank 2 on tp, or remove that of rank 0"));
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
                          "of 2 | pass views that fit the transfer"));
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

Transfer sum_of(std::int64_t elements) { return all_reduce_of(flat(Tensor{1, DataType::f32, 64}, 0, elements)); }

TEST(Mismatches, AreNamedWithBothSides) {
  const Transfer sum = sum_of(8);
  const auto with = [&](auto change) {
    Transfer other = sum;
    change(other);
    return other;
  };
  const Transfer average = with([](Transfer& t) { t.op = ReduceOp::average; });
  const Transfer most = with([](Transfer& t) { t.op = ReduceOp::max; });
  const Transfer exact = with([](Transfer& t) { t.accumulator = Accumulator::fp32; });
  const auto broadcast_from = [&](std::int32_t root) {
    return with([&](Transfer& t) { t.collective = Collective::broadcast, t.peer = root; });
  };
  const View view = sum.input, less = sum_of(6).input;
  const Transfer send = send_to(1, view);
  const Transfer receive = receive_from(0, less);
  EXPECT_THAT(findings_of(sum, sum), IsEmpty());
  EXPECT_THAT(
      findings_of(sum, sum_of(7)),
      ElementsAre("mismatch: rank 1 tp: meet has 7 to 7 f32 elements where rank 0 tp: meet has 8 to 8 f32 elements "
                  "| declare the same transfer on all sides, in the same order"));
  for (const auto& [first, second, what] :
       {std::tuple(sum, average, "rank 1 tp: meet has average where rank 0 tp: meet has sum"),
        {most, sum, "rank 1 tp: meet has sum where rank 0 tp: meet has max"},
        {exact, sum, "has accumulator wire where"},
        {broadcast_from(0), sum, "has all_reduce where rank 0 tp: meet has broadcast"},
        {broadcast_from(0), broadcast_from(1), "has root 1 where rank 0 tp: meet has root 0"},
        {send, receive, "rank 1 tp: meet has 6 f32 elements where rank 0 tp: meet has 8 f32 elements"}})
    EXPECT_THAT(findings_of(first, second), ElementsAre(HasSubstr(what)));
}

TEST(Communicators, ThatAMemberNeverDeclares) {
  RankPrograms ranks(2);
  ranks[0].device.declare("tp", ranks.group(0));
  EXPECT_THAT(ranks.findings(),
              ElementsAre("communicator: rank 1 never declares tp, which rank 0 declares for ranks "
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
                          "| declare the communicators in the same order on all ranks"));
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
