// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/matching/communication_matching.hpp"

#include <gmock/gmock.h>

#include "profiler/analysis/arrivals.hpp"
#include "profiler/analysis/communications.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT

TEST(Matching, PairsByGroupAndSequenceWhateverTheOrderInTheTrace) {
  JobTrace job(2);
  job.nccl(0, 0, 10, record_of(job.all(), 7, Collective::all_reduce));
  job.nccl(0, 20, 30, record_of(job.all(), 8, Collective::all_gather));
  job.nccl(1, 20, 30, record_of(job.all(), 8, Collective::all_gather));
  job.nccl(1, 40, 50, record_of(job.all(), 9, Collective::all_reduce));
  const Matching matching = match_communications(job.trace);
  ASSERT_THAT(matching.matches, SizeIs(1));
  EXPECT_EQ(matching.matches[0].basis, MatchBasis::sequence);
  EXPECT_EQ(matching.matches[0].collective, Collective::all_gather);
  EXPECT_THAT(matching.matches[0].members, ElementsAre(MatchMember{0, 1}, MatchMember{1, 2}));
  EXPECT_THAT(matching.unmatched, ElementsAre(Pair("a member is missing", 2)));
  EXPECT_EQ(matching.slices, 4);
  EXPECT_EQ(matching.matched_slices, 2);
}

TEST(Matching, TakesTheOrderWhereNoSequenceIsGiven) {
  JobTrace job(2);
  for (const std::int32_t rank : {0, 1})
    for (const std::int64_t start : {0, 100, 200}) job.nccl(rank, start, start + 50, record_of(job.all(), 0));
  const Matching matching = match_communications(job.trace);
  ASSERT_THAT(matching.matches, SizeIs(3));
  EXPECT_EQ(matching.matches[1].basis, MatchBasis::order);
  EXPECT_THAT(matching.matches[1].members, ElementsAre(MatchMember{0, 1}, MatchMember{1, 4}));
}

TEST(Matching, LeavesAGroupAloneWhoseMembersHaveDifferentNumbers) {
  JobTrace job(2);
  for (const std::int64_t start : {0, 100}) job.nccl(0, start, start + 50, record_of(job.all(), 0));
  job.nccl(1, 100, 150, record_of(job.all(), 0));
  const Matching matching = match_communications(job.trace);
  EXPECT_THAT(matching.matches, IsEmpty());
  EXPECT_THAT(matching.unmatched, ElementsAre(Pair("different counts per rank, and no sequence numbers", 3)));
}

TEST(Matching, DoesNotTakeNumbersThatOnlyCountForSequences) {
  JobTrace job(2);
  job.trace.metadata["format"] = "kineto";
  for (const std::uint64_t i : {0, 1, 2}) job.nccl(0, 100 * i, 100 * i + 50, record_of(job.all(), i));
  for (const std::uint64_t i : {0, 1}) job.nccl(1, 100 * i + 100, 100 * i + 150, record_of(job.all(), i));
  EXPECT_THAT(match_communications(job.trace).matches, IsEmpty());
}

TEST(Matching, LeavesOutWhatAMemberIsMissingOf) {
  JobTrace job(1);
  const std::uint32_t group = job.group({0, 1});
  job.nccl(0, 0, 50, record_of(group, 0, Collective::all_reduce));
  const Matching matching = match_communications(job.trace);
  EXPECT_THAT(matching.matches, IsEmpty());
  EXPECT_EQ(matching.unmatched.begin()->second, 1);
}

TEST(Matching, LeavesOutMembersThatDoDifferentThings) {
  JobTrace job(2);
  job.nccl(0, 0, 50, record_of(job.all(), 5, Collective::all_reduce));
  job.nccl(1, 0, 50, record_of(job.all(), 5, Collective::all_gather));
  EXPECT_THAT(match_communications(job.trace).matches, IsEmpty());
}

// Long rank lists are cut short in some files and not in others.
TEST(Matching, TakesAGroupWithoutRanksForTheOneThatListsThem) {
  JobTrace job(2);
  const std::uint32_t listed = job.trace.add_group({.ranks = {0, 1}, .name = intern("12"), .num_ranks = 2});
  const std::uint32_t elided = job.trace.add_group({.ranks = {}, .name = intern("12"), .num_ranks = 2});
  job.nccl(0, 0, 50, record_of(listed, 5, Collective::all_reduce));
  job.nccl(1, 0, 50, record_of(elided, 5, Collective::all_reduce));
  const Matching matching = match_communications(job.trace);
  ASSERT_THAT(matching.matches, SizeIs(1));
  record_matches(job.trace, matching);
  EXPECT_EQ(job.trace.communication(1)->group, listed);
}

TEST(Matching, PairsSendsWithReceivesByTheirOrderOnALink) {
  JobTrace job(3);
  job.nccl(0, 0, 10, record_of(job.all(), 0, Collective::send, 1));
  job.nccl(0, 20, 30, record_of(job.all(), 0, Collective::send, 2));
  job.nccl(0, 40, 50, record_of(job.all(), 0, Collective::send, 1));
  job.nccl(1, 0, 10, record_of(job.all(), 0, Collective::receive, 0));
  job.nccl(1, 30, 50, record_of(job.all(), 0, Collective::receive, 0));
  job.nccl(2, 0, 30, record_of(job.all(), 0, Collective::receive, 0));
  const Matching matching = match_communications(job.trace);
  ASSERT_THAT(matching.matches, SizeIs(3));
  EXPECT_TRUE(matching.matches[0].is_message());
  EXPECT_THAT(matching.matches[1].members, ElementsAre(MatchMember{0, 2}, MatchMember{1, 4}));
  EXPECT_THAT(matching.matches[2].members, ElementsAre(MatchMember{0, 1}, MatchMember{2, 5}));
}

TEST(Matching, LeavesOutALinkWhoseEndsHaveDifferentNumbers) {
  JobTrace job(2);
  job.trace.metadata["format"] = "kineto";
  job.nccl(0, 0, 10, record_of(job.all(), 0, Collective::send, 1));
  job.nccl(0, 20, 30, record_of(job.all(), 0, Collective::send, 1));
  job.nccl(1, 0, 10, record_of(job.all(), 0, Collective::receive, 0));
  const Matching matching = match_communications(job.trace);
  EXPECT_THAT(matching.matches, IsEmpty());
  EXPECT_THAT(matching.unmatched, ElementsAre(Pair("different counts of sends and receives", 3)));
}

TEST(Matching, AssumesOneCollectiveWhereAllRanksRunTheSameKernels) {
  JobTrace job(3);
  for (const std::int32_t rank : {0, 1, 2}) {
    job.nccl(rank, 10 * rank, 50, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm)");
    job.nccl(rank, 100 + rank, 150, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm)");
  }
  const Matching matching = match_communications(job.trace);
  ASSERT_THAT(matching.matches, SizeIs(2));
  EXPECT_TRUE(matching.is_assumed());
  EXPECT_EQ(matching.matches[0].basis, MatchBasis::assumed);
  EXPECT_EQ(matching.matches[0].collective, Collective::all_to_all);
  EXPECT_EQ(matching.matches[1].collective, Collective::all_reduce);
  record_matches(job.trace, matching);
  EXPECT_THAT(job.trace.groups[job.trace.communication(5)->group].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(job.trace.communication(5)->sequence, 1U);
  const Matching again = match_communications(job.trace);
  ASSERT_THAT(again.matches, SizeIs(2));
  EXPECT_EQ(again.matches[1].members, matching.matches[1].members);
  EXPECT_TRUE(again.is_assumed());
}

TEST(Matching, AssumesNothingWhereRanksRunDifferentKernels) {
  JobTrace job(2);
  job.nccl(0, 0, 50, "ncclKernel_AllGather");
  job.nccl(1, 0, 50, "ncclKernel_AllReduce");
  const Matching matching = match_communications(job.trace);
  EXPECT_THAT(matching.matches, IsEmpty());
  EXPECT_THAT(matching.unmatched, ElementsAre(Pair("no communicator recorded, and ranks run different kernels", 2)));
}

// Ranks 0 and 1 are one group of tensor parallelism and ranks 2 and 3 another: all four run the same kernels.
TEST(Matching, AssumesNothingWhereMembersNeverRunTogether) {
  JobTrace job(4);
  for (const std::int32_t rank : {0, 1, 2, 3})
    for (const std::int64_t i : {0, 1, 2}) {
      const std::int64_t start = 1000 * i + (rank < 2 ? 0 : 100 * (i + 1));
      job.nccl(rank, start, start + 20);
    }
  const Matching matching = match_communications(job.trace);
  EXPECT_THAT(matching.matches, IsEmpty());
  EXPECT_EQ(matching.unmatched.at("no communicator recorded, and ranks run them at different times"), 12);
}

TEST(Matching, AssumesNothingWhereTheJobHasMoreRanksThanTheTrace) {
  JobTrace job(2);
  job.trace.metadata["world_size"] = "8";
  for (const std::int32_t rank : {0, 1}) job.nccl(rank, 0, 50);
  EXPECT_THAT(match_communications(job.trace).matches, IsEmpty());
}

TEST(Matching, DrawsArrowsFromTheLastMemberAndFromSends) {
  JobTrace job(2);
  job.nccl(0, 0, 50, record_of(job.all(), 5, Collective::all_reduce));
  job.nccl(1, 30, 50, record_of(job.all(), 5, Collective::all_reduce));
  job.nccl(0, 60, 90, record_of(job.all(), 6, Collective::receive, 1));
  job.nccl(1, 70, 90, record_of(job.all(), 6, Collective::send, 0));
  const Matching matching = match_communications(job.trace);
  add_flows(job.trace, matching);
  add_flows(job.trace, matching);
  EXPECT_THAT(job.trace.flows, ElementsAre(Flow{1, 0, FlowKind::collective}, Flow{3, 2, FlowKind::message}));
}

TEST(Communications, GivesMessagesTheArrivalOfTheLaterEnd) {
  JobTrace job(2);
  job.nccl(0, 0, 90, record_of(job.all(), 6, Collective::receive, 1), Mode::pp);
  job.nccl(1, 70, 90, record_of(job.all(), 6, Collective::send, 0), Mode::pp);
  match_and_align(job.trace);
  EXPECT_EQ(job.trace.communication(0)->last_arrival_ns, 70);
  EXPECT_EQ(job.trace.communication(1)->last_arrival_ns, 70);
}

// Both directions of a pipeline bound the offset: what rank 1 sent at 70 arrived by 90 on rank 0, and the reverse.
TEST(Communications, BoundOffsetsByMessages) {
  JobTrace job(2);
  job.nccl(0, 0, 90, record_of(job.all(), 6, Collective::receive, 1), Mode::pp);
  job.nccl(1, 70, 90, record_of(job.all(), 6, Collective::send, 0), Mode::pp);
  job.nccl(0, 200, 230, record_of(job.all(), 7, Collective::send, 1), Mode::pp);
  job.nccl(1, 190, 240, record_of(job.all(), 7, Collective::receive, 0), Mode::pp);
  const Communications communications = match_and_align(job.trace);
  const ClockOffset& offset = communications.alignment.pairs.at({0, 1});
  EXPECT_EQ(offset.low_ns, -20);
  EXPECT_EQ(offset.high_ns, 40);
  EXPECT_EQ(communications.alignment.uncertainty_ns(0, 1), 60);
}

TEST(Communications, KeepsClocksThatAgreeAsRead) {
  JobTrace job(2);
  for (const std::int32_t rank : {0, 1})
    for (const std::int64_t i : {0, 1, 2}) job.nccl(rank, 1000 * i, 1000 * i + 100 + (rank * i) * 3);
  const Communications communications = match_and_align(job.trace);
  EXPECT_EQ(communications.alignment.offset_ns.at(1), 0);
  EXPECT_EQ(communications.alignment.residual_ns, 3);
}

}  // namespace
}  // namespace underlap::analysis
