// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/bandwidth.hpp"

#include <gmock/gmock.h>

#include <cstdint>

#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::analysis {
namespace {

using testing::DoubleEq;
using testing::SizeIs;

CommunicationRecord sized(std::uint32_t group, Collective collective, std::int64_t bytes, std::int64_t arrival = -1) {
  return {.group = group, .last_arrival_ns = arrival, .transfers = {{.collective = collective, .bytes = bytes}}};
}

TEST(Bandwidth, IsThatOfNcclTests) {
  JobTrace job(4);
  const std::uint32_t group = job.group({0, 1, 2, 3});
  job.nccl(0, 0, 2000, sized(group, Collective::all_reduce, 100'000, 1000));
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
  EXPECT_THAT(bus_factor(Collective::all_gather, 8), DoubleEq(0.875));
  EXPECT_THAT(bus_factor(Collective::reduce_scatter, 8), DoubleEq(0.875));
  EXPECT_THAT(bus_factor(Collective::all_to_all, 8), DoubleEq(0.875));
  EXPECT_THAT(bus_factor(Collective::broadcast, 8), DoubleEq(1));
  EXPECT_THAT(bus_factor(Collective::send, 2), DoubleEq(1));
}

TEST(Bandwidth, TakesTheMedianOfEachClassOfSizes) {
  JobTrace job(2);
  const std::uint32_t group = job.group({0, 1});
  for (const std::int64_t ns : {10, 20, 1000}) job.nccl(0, 0, ns, sized(group, Collective::all_gather, 1000));
  job.nccl(0, 0, 10, sized(group, Collective::all_gather, 4096));
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

}  // namespace
}  // namespace underlap::analysis
