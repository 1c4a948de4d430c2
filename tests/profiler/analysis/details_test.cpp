// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "profiler/analysis/details/trace_details.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT

IdleTime idle_of(const JobTrace& job, const Window& window) {
  return find_idle_causes(job.trace, std::vector{window}).at(window.rank);
}

TEST(IdleCauses, TakesAGapForLaunchWhereTheCallCameLate) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 5'000, 7'000, job.kernel(0, 9'000, 9'100));
  const IdleTime idle = idle_of(job, {0, 0, 0, 0, 9'100});
  EXPECT_EQ(idle.of(IdleCause::launch), 8'900);
  EXPECT_EQ(idle.total_ns(), 8'900);
  EXPECT_EQ(idle.gaps, 1);
  EXPECT_EQ(idle.gaps_with_call, 1);
}

TEST(IdleCauses, DoesNotBlameTheHostForWorkThatWasEnqueuedInTime) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 10, 20, job.kernel(0, 9'000, 9'100));
  EXPECT_EQ(idle_of(job, {0, 0, 0, 0, 9'100}).of(IdleCause::not_known), 8'900);
}

TEST(IdleCauses, EndsTheLaunchWhereWorkBeginsLongAfterItsCall) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 200, 1'100, job.kernel(0, 90'000, 90'100));
  const IdleTime idle = idle_of(job, {0, 0, 0, 0, 90'100});
  EXPECT_EQ(idle.of(IdleCause::launch), 1'000);
  EXPECT_EQ(idle.of(IdleCause::not_known), 88'900);
}

TEST(IdleCauses, SeesAStreamThatWaits) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.trace.add(
      testing_support::slice_of(JobTrace::track(0, 1), 50, 250, "Stream Wait Event", testing_support::kNoWork));
  job.kernel(0, 400, 500);
  const IdleTime idle = idle_of(job, {0, 0, 0, 0, 500});
  EXPECT_EQ(idle.of(IdleCause::wait), 200);
  EXPECT_EQ(idle.of(IdleCause::not_known), 100);
}

TEST(IdleCauses, SeesAPipelineThatHasNothingToReceiveYet) {
  JobTrace job(2);
  job.kernel(1, 0, 100);
  job.nccl(1, 700, 800, {.group = job.all(), .transfers = {{.collective = Collective::receive, .peer = 0}}}, Mode::pp);
  EXPECT_EQ(idle_of(job, {1, 0, 0, 0, 800}).of(IdleCause::pipeline), 600);
}

TEST(IdleCauses, SumsToTheIdleTimeOfEachWindow) {
  JobTrace job(1);
  std::int64_t time = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    time += (i * 7919) % 41'000;
    const std::uint32_t kernel = i % 5 == 0 ? job.nccl(0, time, time + 3'000) : job.kernel(0, time, time + 900 + i);
    if (i % 3 == 0) job.call(0, time - 30'000, time - (i * 613) % 30'000, kernel);
    time += i % 2 == 0 ? 950 : 0;
  }
  std::vector<Window> windows;
  for (std::int64_t begin = 0; begin < time; begin += 123'457)
    windows.push_back({0, 0, static_cast<std::int32_t>(windows.size()), begin, begin + 123'457});
  std::int64_t idle_ns = 0;
  for (const Split& split : split_windows(job.trace, windows)) idle_ns += split.idle_ns;
  const IdleTime idle = find_idle_causes(job.trace, windows).at(0);
  EXPECT_EQ(idle.total_ns(), idle_ns);
  EXPECT_GT(idle.of(IdleCause::launch), 0);
  EXPECT_GT(idle.of(IdleCause::not_known), 0);
}

TEST(IdleCauses, CallsAWindowWithoutWorkNotKnown) {
  JobTrace job(1);
  EXPECT_EQ(idle_of(job, {0, 0, 0, 0, 500}).of(IdleCause::not_known), 500);
}

CommunicationRecord sized(std::uint32_t group, Collective collective, std::int64_t bytes, std::int64_t arrival = -1) {
  return {.group = group, .last_arrival_ns = arrival, .transfers = {{.collective = collective, .bytes = bytes}}};
}

TEST(Bandwidth, IsThatOfNcclTests) {
  JobTrace job(4);
  job.nccl(0, 0, 2000, sized(job.all(), Collective::all_reduce, 100'000, 1000));
  const BandwidthReport report = find_bandwidths(job.trace);
  ASSERT_THAT(report.rows, SizeIs(1));
  const BandwidthRow& row = report.rows[0];
  EXPECT_EQ(row.num_ranks, 4U);
  EXPECT_EQ(row.least_bytes, 65536);
  EXPECT_THAT(row.whole.algbw_gb_per_s, DoubleEq(50));
  EXPECT_THAT(row.whole.busbw_gb_per_s, DoubleEq(75));
  EXPECT_THAT(row.transfer->algbw_gb_per_s, DoubleEq(100));
  EXPECT_THAT(row.transfer->busbw_gb_per_s, DoubleEq(150));
}

TEST(Bandwidth, HasTheFactorOfEachCollective) {
  EXPECT_THAT(bus_factor(Collective::all_reduce, 8), DoubleEq(1.75));
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all})
    EXPECT_THAT(bus_factor(collective, 8), DoubleEq(0.875));
  EXPECT_THAT(bus_factor(Collective::broadcast, 8), DoubleEq(1));
  EXPECT_THAT(bus_factor(Collective::send, 2), DoubleEq(1));
}

TEST(Bandwidth, TakesTheMedianOfEachClassOfSizes) {
  JobTrace job(2);
  for (const std::int64_t ns : {10, 20, 1000}) job.nccl(0, 0, ns, sized(job.all(), Collective::all_gather, 1000));
  job.nccl(0, 0, 10, sized(job.all(), Collective::all_gather, 4096));
  const BandwidthReport report = find_bandwidths(job.trace);
  ASSERT_THAT(report.rows, SizeIs(2));
  EXPECT_EQ(report.rows[0].count, 3);
  EXPECT_EQ(report.rows[0].least_bytes, 512);
  EXPECT_EQ(report.rows[0].median_ns, 20);
  EXPECT_THAT(report.rows[0].whole.algbw_gb_per_s, DoubleEq(50));
  EXPECT_EQ(report.rows[0].transfer.has_value(), false);
  EXPECT_EQ(report.rows[1].least_bytes, 4096);
}

TEST(Bandwidth, CountsWhatHasNoBytesAndGivesItNoRate) {
  JobTrace job(2);
  job.nccl(0, 0, 10);
  job.nccl(0, 20, 30, sized(job.group({0, 1}), Collective::all_gather, 0));
  const BandwidthReport report = find_bandwidths(job.trace);
  EXPECT_THAT(report.rows, SizeIs(0));
  EXPECT_EQ(report.without_bytes, 2);
}

TEST(SlowedCompute, ComparesAKernelBesideCommunicationWithItselfAlone) {
  JobTrace job(1);
  job.nccl(0, 0, 300);
  job.kernel(0, 0, 120);
  job.kernel(0, 120, 250);
  job.kernel(0, 400, 500);
  job.kernel(0, 500, 602);
  job.kernel(0, 700, 770, "alone_only");
  const SlowedCompute slowed = find_slowed_compute(job.trace);
  ASSERT_THAT(slowed.kernels, SizeIs(1));
  const SlowedKernel& kernel = slowed.kernels[0];
  EXPECT_EQ(name_of(kernel.name), "gemm");
  EXPECT_EQ(kernel.concurrent, 2);
  EXPECT_EQ(kernel.alone, 2);
  EXPECT_EQ(kernel.median_concurrent_ns, 125);
  EXPECT_EQ(kernel.median_alone_ns, 101);
  EXPECT_EQ(kernel.cost_ns, 250 - 2 * 101);
  EXPECT_EQ(slowed.cost_ns, kernel.cost_ns);
  EXPECT_EQ(slowed.compared_share(), 1.0);
}

TEST(SlowedCompute, SaysHowMuchHasNothingToBeComparedWith) {
  JobTrace job(1);
  job.nccl(0, 0, 300);
  job.kernel(0, 0, 100, "never_alone");
  job.kernel(0, 100, 200);
  job.kernel(0, 280, 400, "mostly_alone");
  job.kernel(0, 400, 500);
  const SlowedCompute slowed = find_slowed_compute(job.trace);
  EXPECT_EQ(slowed.concurrent_ns, 200);
  EXPECT_EQ(slowed.compared_ns, 100);
  EXPECT_EQ(slowed.compared_share(), 0.5);
  EXPECT_EQ(slowed.partly_concurrent_ns, 120);
  EXPECT_EQ(slowed.unknown_shape_ns, 100);
}

TEST(SlowedCompute, NeverComparesLaunchesOfDifferentSizeOrRank) {
  JobTrace job(2);
  job.nccl(0, 0, 300);
  const auto gemm = [&](std::uint32_t track, std::int64_t start, std::uint32_t blocks) {
    job.trace.add({.track = track,
                   .start_ns = start,
                   .duration_ns = 50,
                   .name = intern("gemm"),
                   .tag = {},
                   .shape = {.grid = {blocks, 1, 1}}});
  };
  gemm(JobTrace::track(0, 0), 0, 8);
  gemm(JobTrace::track(0, 0), 400, 16);
  gemm(JobTrace::track(1, 0), 0, 8);
  EXPECT_THAT(find_slowed_compute(job.trace).kernels, IsEmpty());
}

}  // namespace
}  // namespace underlap::analysis
