// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/waits.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT

WaitReport waits_of(JobTrace& job) {
  const Communications communications = match_and_align(job.trace);
  return find_waits(job.trace, communications);
}

// All ranks of one clock, as a modelled trace has it.
JobTrace one_clock(std::int32_t num_ranks) {
  JobTrace job(num_ranks);
  job.trace.metadata["backend"] = "sim";
  return job;
}

TEST(Waits, NamesTheRankWhoseKernelTookLonger) {
  JobTrace job = one_clock(3);
  for (const std::int32_t rank : {0, 1, 2}) {
    job.nccl(rank, 0, 10, record_of(job.all(), 3));
    job.kernel(rank, 10, rank == 2 ? 150 : 100, "gemm");
    job.nccl(rank, rank == 2 ? 150 : 100, 170, record_of(job.all(), 4));
  }
  const WaitReport report = waits_of(job);
  ASSERT_THAT(report.arrivals, SizeIs(2));
  const LateArrival& late = report.arrivals[1];
  EXPECT_EQ(late.last_rank, 2);
  EXPECT_EQ(late.waited_ns, 100);
  EXPECT_EQ(late.transfer_ns, 20);
  EXPECT_EQ(late.cause, LateCause::longer_kernels);
  EXPECT_EQ(late.cause_ns, 50);
  EXPECT_EQ(name_of(late.kernel), "gemm");
  EXPECT_EQ(late.hops, 0);
  EXPECT_EQ(report.total.wait_ns, 100);
  EXPECT_EQ(report.total.transfer_ns, 90);
  EXPECT_EQ(report.ranks.at(0).wait_ns, 50);
  EXPECT_EQ(report.ranks.at(2).wait_ns, 0);
  EXPECT_EQ(report.late_rank()->rank, 2);
  EXPECT_EQ(report.late_rank()->share, 1.0);
}

TEST(Waits, TellsMoreKernelsFromLongerOnes) {
  JobTrace job = one_clock(2);
  for (const std::int32_t rank : {0, 1}) {
    job.kernel(rank, 0, 100, "gemm");
    if (rank == 1) job.kernel(rank, 100, 180, "topk");
    job.nccl(rank, rank == 1 ? 180 : 100, 200, record_of(job.all(), 4));
  }
  const LateArrival late = waits_of(job).arrivals.at(0);
  EXPECT_EQ(late.cause, LateCause::more_kernels);
  EXPECT_EQ(name_of(late.kernel), "topk");
}

// Rank 2 computes for longer, so 1 waits for it, and so 0 waits for 1.
TEST(Waits, FollowsTheChainToTheFirstLateCompute) {
  JobTrace job = one_clock(3);
  const std::uint32_t all = job.group({0, 1, 2}, "all");
  const std::uint32_t late_pair = job.group({1, 2}, "12");
  const std::uint32_t pair = job.group({0, 1}, "01");
  for (const std::int32_t rank : {0, 1, 2}) job.nccl(rank, 0, 10, record_of(all, 3));
  job.kernel(2, 10, 400);
  job.kernel(1, 10, 100);
  job.kernel(0, 10, 130);
  job.nccl(1, 100, 410, record_of(late_pair, 4));
  job.nccl(2, 400, 410, record_of(late_pair, 4));
  job.kernel(1, 410, 440);
  job.nccl(0, 130, 450, record_of(pair, 4));
  job.nccl(1, 440, 450, record_of(pair, 4));
  const WaitReport report = waits_of(job);
  const LateArrival& last = report.arrivals.back();
  EXPECT_EQ(last.last_rank, 1);
  EXPECT_EQ(last.blamed_rank, 2);
  EXPECT_EQ(last.cause, LateCause::longer_kernels);
  EXPECT_EQ(last.hops, 1);
  EXPECT_THAT(report.total.wait_ns_by_last_rank, ElementsAre(Pair(1, 310), Pair(2, 300)));
  EXPECT_THAT(report.total.wait_ns_by_blamed_rank, ElementsAre(Pair(1, 30), Pair(2, 570)));
  EXPECT_EQ(report.total.behind_transfer_ns, 10);
}

// Rank 0 waits 400 for rank 1, which waits 200 for rank 2, is in a transfer for 50, and computes for 150.
TEST(Waits, ChargesEachPartOfAWaitToWhatTheLateRankDid) {
  JobTrace job = one_clock(3);
  const std::uint32_t pair = job.group({0, 1}, "01"), other = job.group({1, 2}, "12");
  for (const std::int32_t rank : {0, 1}) job.kernel(rank, 0, 100);
  job.kernel(2, 0, 300);
  job.nccl(1, 100, 350, record_of(other, 4), Mode::dp);
  job.nccl(2, 300, 350, record_of(other, 4), Mode::dp);
  job.kernel(1, 350, 500, "more");
  job.nccl(0, 100, 550, record_of(pair, 4), Mode::tp);
  job.nccl(1, 500, 550, record_of(pair, 4), Mode::tp);
  const WaitReport report = waits_of(job);
  EXPECT_EQ(report.total.wait_ns, 600);
  EXPECT_THAT(report.total.wait_ns_by_blamed_rank, ElementsAre(Pair(1, 150), Pair(2, 400)));
  EXPECT_THAT(report.ranks.at(0).wait_ns_by_blamed_rank, ElementsAre(Pair(1, 150), Pair(2, 200)));
  EXPECT_EQ(report.total.behind_transfer_ns, 50);
  EXPECT_EQ(report.total.unresolved_ns, 0);
  EXPECT_EQ(report.late_rank()->rank, 2);
  EXPECT_EQ(report.late_rank()->wait_ns, 400);
  EXPECT_DOUBLE_EQ(report.late_rank()->share, 400.0 / 600);
  EXPECT_EQ(report.total.wait_ns_by_cause.at(LateCause::more_kernels), 150);
}

TEST(Waits, AreChargedInPartsThatSumToThem) {
  JobTrace job = one_clock(3);
  const std::uint32_t all = job.group({0, 1, 2}, "all"), pair = job.group({1, 2}, "12");
  std::array<std::int64_t, 3> time{};
  for (std::int64_t i = 0; i < 200; ++i) {
    const std::uint32_t group = i % 3 == 0 ? pair : all;
    std::int64_t last = 0;
    for (std::int32_t rank = i % 3 == 0 ? 1 : 0; rank < 3; ++rank) {
      std::int64_t& now = time[static_cast<std::size_t>(rank)];
      job.kernel(rank, now + (i * 7 + rank) % 5, now + 20 + (i * 53 + rank * 29) % 67);
      now += 20 + (i * 53 + rank * 29) % 67;
      last = std::max(last, now);
    }
    for (std::int32_t rank = i % 3 == 0 ? 1 : 0; rank < 3; ++rank) {
      std::int64_t& now = time[static_cast<std::size_t>(rank)];
      job.nccl(rank, now, last + 13, record_of(group, static_cast<std::uint64_t>(i) + 5));
      now = last + 13;
    }
  }
  const WaitReport report = waits_of(job);
  for (const auto& [rank, totals] : report.ranks) {
    std::int64_t sum = totals.behind_transfer_ns + totals.unresolved_ns;
    for (const auto& [blamed, ns] : totals.wait_ns_by_blamed_rank) sum += ns;
    EXPECT_EQ(sum, totals.wait_ns);
    EXPECT_GT(totals.wait_ns, 0);
  }
  EXPECT_GT(report.total.behind_transfer_ns, 0);
}

TEST(Waits, NamesNobodyWhereOneCollectiveFitsAnyOffset) {
  JobTrace job(2);
  job.nccl(0, 120, 180, record_of(job.all(), 4));
  job.nccl(1, 30'100, 30'180, record_of(job.all(), 4));
  const WaitReport report = waits_of(job);
  EXPECT_EQ(report.residual_ns, std::nullopt);
  EXPECT_EQ(report.total.unresolved_ns, 20);
  EXPECT_EQ(report.late_rank(), std::nullopt);
}

TEST(Waits, TellsALateLaunchFromOtherIdleTime) {
  for (const bool is_late_call : {true, false}) {
    JobTrace job = one_clock(2);
    const std::uint32_t group = job.group({0, 1});
    for (const std::int32_t rank : {0, 1}) job.nccl(rank, 0, 10, record_of(group, 3));
    job.nccl(0, 20, 200, record_of(group, 4));
    const std::uint32_t late = job.nccl(1, 180, 200, record_of(group, 4));
    job.call(1, is_late_call ? 170 : 5, is_late_call ? 175 : 8, late);
    EXPECT_EQ(waits_of(job).arrivals.at(1).cause, is_late_call ? LateCause::late_launch : LateCause::longer_idle);
  }
}

TEST(Waits, SplitsWhatIsUnderComputeFromWhatIsExposed) {
  JobTrace job = one_clock(2);
  job.kernel(0, 0, 70);
  job.nccl(0, 0, 120, record_of(job.all(), 4));
  job.nccl(1, 100, 120, record_of(job.all(), 4));
  const WaitReport report = waits_of(job);
  EXPECT_EQ(report.ranks.at(0).wait_ns, 100);
  EXPECT_EQ(report.ranks.at(0).exposed_wait_ns, 30);
  EXPECT_EQ(report.ranks.at(0).exposed_transfer_ns, 20);
}

TEST(Waits, BlamesNobodyForWhatClocksCannotTell) {
  JobTrace job(2);
  for (const std::int64_t i : {0, 1, 2}) {
    const std::int64_t start = 1000 * i;
    job.nccl(0, start, start + 100, record_of(job.all(), static_cast<std::uint64_t>(i) + 5));
    job.nccl(1, start + 8, start + 100 + 10 * i, record_of(job.all(), static_cast<std::uint64_t>(i) + 5));
  }
  const WaitReport report = waits_of(job);
  EXPECT_EQ(report.residual_ns, 10);
  EXPECT_EQ(report.total.wait_ns, 24);
  EXPECT_EQ(report.total.unresolved_ns, 24);
  EXPECT_EQ(report.late_rank(), std::nullopt);
}

TEST(Waits, TakesTheWaitOfAPipelineForItsSchedule) {
  JobTrace job = one_clock(2);
  job.kernel(0, 0, 100);
  job.nccl(0, 100, 120, record_of(job.all(), 0, Collective::send, 1), Mode::pp);
  job.nccl(1, 0, 120, record_of(job.all(), 0, Collective::receive, 0), Mode::pp);
  const WaitReport report = waits_of(job);
  EXPECT_EQ(report.arrivals.at(0).cause, LateCause::pipeline);
  EXPECT_EQ(report.modes.at("pp").wait_ns, 100);
  EXPECT_EQ(report.late_rank(), std::nullopt);
}

TEST(Waits, FindsTheStepOfAWait) {
  JobTrace job = one_clock(2);
  for (const std::int32_t rank : {0, 1}) {
    for (const std::int32_t step : {0, 1, 2}) job.trace.marks.push_back({rank, 0, step, 1000 * (step + 1)});
    job.nccl(rank, 1100 + 50 * rank, 1200, record_of(job.all(), 4));
    job.nccl(rank, 2100 + 70 * rank, 2200, record_of(job.all(), 5));
  }
  const WaitReport report = waits_of(job);
  EXPECT_EQ(report.steps.at(1).wait_ns, 50);
  EXPECT_EQ(report.steps.at(2).wait_ns, 70);
}

}  // namespace
}  // namespace underlap::analysis
