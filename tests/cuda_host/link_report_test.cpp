// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/emulated_link/link_report.hpp"

#include <vector>

#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

LinkRecord record(unsigned long long start_us, unsigned long long end_us, unsigned long long out,
                  unsigned long long in = 0) {
  return {.start_ns = start_us * 1000,
          .placed_ns = start_us * 1000,
          .end_ns = end_us * 1000,
          .bytes_out = out,
          .bytes_in = in};
}

LinkReport report(const std::vector<LinkRecord>& records, double asked, double latency_us = 0,
                  std::int64_t unrecorded = 0, const std::vector<double>& alone = {}) {
  return report_link(records, std::vector<double>(records.size(), latency_us), alone, asked, unrecorded);
}

TEST(LinkReport, IsBytesOverTime) {
  const LinkReport one = report({record(1000, 2000, 100'000'000)}, 100);
  EXPECT_DOUBLE_EQ(one.achieved_gb_per_s.value(), 100);
  EXPECT_TRUE(one.is_valid());
  EXPECT_EQ(one.bytes_out, 100'000'000);
}

TEST(LinkReport, IsTheRateOfTheBusierDirectionOverBusyTimes) {
  const auto rate = [](const std::vector<LinkRecord>& records, double asked = 100, double latency_us = 0) {
    return report(records, asked, latency_us).achieved_gb_per_s.value();
  };
  EXPECT_DOUBLE_EQ(rate({record(0, 1000, 100'000'000, 200'000'000)}, 200), 200);
  EXPECT_DOUBLE_EQ(rate({record(0, 1100, 100'000'000)}, 100, 100), 100) << "latency carries nothing";
  EXPECT_DOUBLE_EQ(rate({record(0, 2000, 100'000'000), record(0, 2000, 100'000'000)}), 100)
      << "each alone would seem half as fast as the link";
  // The second ends inside the first, and the third overlaps with the first alone.
  EXPECT_DOUBLE_EQ(rate({record(0, 2000, 1), record(500, 600, 1), record(1900, 4000, 399'999'998)}), 100);
  const LinkReport two = report({record(0, 1000, 100'000'000), record(2000, 3000, 50'000'000)}, 100);
  EXPECT_DOUBLE_EQ(two.achieved_gb_per_s.value(), 75);
  EXPECT_DOUBLE_EQ(two.lowest_gb_per_s.value(), 50) << "of one busy time";
  EXPECT_EQ(two.num_transfers, 2);
}

TEST(LinkReport, TellsHowLongBlocksWaitedForMultiprocessors) {
  LinkRecord late = record(0, 2000, 110'000'000);
  late.placed_ns = 1'000'000;
  const LinkReport of_late = report({late, record(3000, 4000, 100'000'000)}, 100);
  EXPECT_DOUBLE_EQ(of_late.longest_placing_us, 1000);
  EXPECT_THAT(to_text(of_late), HasSubstr("waited up to 1000 us for SMs"));
  EXPECT_THAT(to_text(report({record(0, 1000, 100'000'000)}, 100)), Not(HasSubstr("for SMs")));
}

TEST(LinkReport, BelowTheRateNextToComputeIsReportedAndValid) {
  const LinkReport slow = report({record(0, 1000, 91'000'000)}, 100, 0, 0, {99});
  EXPECT_TRUE(slow.is_valid());
  EXPECT_DOUBLE_EQ(slow.share().value(), 0.91);
  EXPECT_THAT(to_text(slow), HasSubstr("link at 91 %: 91 of 100 GB/s (lowest 91) over 1 transfers, 99 alone"));
  EXPECT_THAT(to_text(slow), Not(HasSubstr("INVALID")));
}

TEST(LinkReport, BelowNinetyEightPercentAloneTooIsNotValid) {
  EXPECT_TRUE(report({record(0, 1000, 97'900'000)}, 100, 0, 0, {98}).is_valid());
  EXPECT_TRUE(report({record(0, 1000, 98'000'000)}, 100, 0, 0, {97}).is_valid()) << "it kept the rate";
  const LinkReport slow = report({record(0, 1000, 97'900'000)}, 100, 0, 0, {97.9});
  EXPECT_FALSE(slow.is_valid());
  EXPECT_THAT(to_text(slow), HasSubstr("INVALID: under 98 % of the requested rate with nothing else running"));
}

// 100 MB at 100 GB/s and 300 MB at 50 GB/s: 400 MB in 7 ms.
TEST(LinkReport, TheRateAloneIsThatOfAllTransfersTogetherAndWithoutItNothingIsCalledInvalid) {
  const LinkReport two = report({record(0, 2000, 100'000'000), record(3000, 9000, 300'000'000)}, 100, 0, 0, {100, 50});
  EXPECT_NEAR(two.alone_gb_per_s.value(), 400.0 / 7, 1e-9);
  const LinkReport unknown = report({record(0, 1000, 50'000'000)}, 100);
  EXPECT_FALSE(unknown.alone_gb_per_s.has_value());
  EXPECT_TRUE(unknown.is_valid());
}

TEST(LinkReport, ShortBusyTimesAreNotJudged) {
  const LinkReport report_of_short = report({record(0, 99, 1000)}, 100, 0, 3);
  EXPECT_FALSE(report_of_short.achieved_gb_per_s.has_value());
  EXPECT_TRUE(report_of_short.is_valid());
  EXPECT_EQ(report_of_short.num_too_short, 1);
  EXPECT_THAT(to_text(report_of_short), HasSubstr("not measured: none of 1 transfers"));
  EXPECT_THAT(to_text(report_of_short), HasSubstr("3 not recorded"));
}

TEST(LinkReport, WhatNeverRanIsLeftOut) {
  EXPECT_EQ(report({LinkRecord{}}, 100).num_transfers, 0);
  EXPECT_FALSE(report({}, 100).achieved_gb_per_s.has_value());
}

TEST(LinkReport, WaitingIsNotEmulatedNeverNothing) {
  EXPECT_THAT(to_text(report({record(0, 1000, 100'000'000)}, 100)), HasSubstr("waiting for peers: not emulated"));
  EXPECT_THAT(to_text(report({record(0, 1000, 100'000'000)}, 100)), Not(HasSubstr("VALID")));
}

}  // namespace
}  // namespace underlap::cuda
