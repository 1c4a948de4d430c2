// SPDX-License-Identifier: Apache-2.0
#include "research/studies/collective_times.hpp"

#include <gmock/gmock.h>

#include "platform/json.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using sim::nccl::Algorithm;

std::vector<CollectiveLog> shipped_logs() {
  return study_testing::shipped(parse_collective_logs, "results/collectives/logs.yaml");
}

/// A study of one log on 8 H100 whose points are `points`.
std::string study(const std::string& points, const std::string& more = "") {
  return "study: collective_times\nlogs:\n  - name: a\n    hardware: h100-sxm\n    collective: all_reduce\n    ranks: "
         "8\n"
         "    nodes: 1\n    source: made up\n" +
         more + "    points: [" + points + "]\n";
}

std::string point(double mib, double time_us) {
  return "{bytes: " + std::to_string(static_cast<std::int64_t>(mib * 1048576)) +
         ", time_us: " + std::to_string(time_us) + "}, ";
}

std::vector<FittedTimes> fit_of(const std::string& yaml) {
  const auto logs = parse_collective_logs(yaml, "a.yaml");
  return fit_collective_times(logs.front(), logs);
}

TEST(CollectiveLogs, FitEverySecondPointFromTheFirst) {
  const auto logs = parse_collective_logs(study(point(64, 300) + point(128, 600) + point(256, 900)), "a.yaml");
  ASSERT_EQ(logs.front().points.size(), 3U);
  EXPECT_EQ(logs.front().points[0].use, PointUse::fitted);
  EXPECT_EQ(logs.front().points[1].use, PointUse::held_out);
  EXPECT_EQ(logs.front().points[2].use, PointUse::fitted);
}

TEST(CollectiveLogs, LeaveOutAPointThatTheLogGivesTwice) {
  const auto logs = parse_collective_logs(
      study(point(64, 300) + "{bytes: 1000000000, busbw_gb_per_s: 150, other_busbw_gb_per_s: 50}, "), "a.yaml");
  const LogPoint& twice = logs.front().points.back();
  EXPECT_EQ(twice.use, PointUse::unread);
  EXPECT_EQ(twice.reading_error, 0.5) << "half the way between the two, over their mean of 100";
}

TEST(CollectiveLogs, LeaveOutPointsThatArePoorlyRead) {
  const std::string points =
      "{bytes: 1000, busbw_gb_per_s: 14}, {bytes: 2000, busbw_gb_per_s: 15}, {bytes: 3000, "
      "busbw_gb_per_s: 30}";
  const auto logs = parse_collective_logs(study(points, "    reading_error_gb_per_s: 3\n"), "a.yaml");
  EXPECT_EQ(logs.front().points[0].use, PointUse::unread);
  EXPECT_EQ(logs.front().points[1].use, PointUse::fitted);
  EXPECT_EQ(logs.front().points[2].use, PointUse::held_out);
  EXPECT_DOUBLE_EQ(logs.front().points[2].reading_error, 0.1);
  EXPECT_DOUBLE_EQ(logs.front().points[2].time_us, 3000 * 1.75 / 30e3);
}

TEST(CollectiveFit, IsTheLineBetweenFittedPoints) {
  const auto fits = fit_of(study(point(64, 300) + point(128, 9999) + point(256, 1020)));
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].algorithm, Algorithm::nvls);
  ASSERT_EQ(fits[0].segments.size(), 2U);
  // Below: the 476 GB/s of bus bandwidth that NCCL expects of the switch. Between: 192 MiB in 720 us.
  EXPECT_NEAR(fits[0].segments[0].busbw_gb_per_s, 476, 1e-9);
  EXPECT_NEAR(fits[0].segments[0].latency_us, 300 - 64 * 1.048576 * 1.75 / 0.476, 1e-9);
  EXPECT_EQ(fits[0].segments[1].up_to_bytes, 256 << 20);
  EXPECT_NEAR(fits[0].segments[1].busbw_gb_per_s, 192 * 1.048576e3 / 720 * 1.75, 1e-9);
  EXPECT_NEAR(fits[0].segments[1].latency_us, 60, 1e-9);
}

TEST(CollectiveFit, BeginsAtZeroWhereALineWouldBeginBelow) {
  const auto fits = fit_of(study(point(64, 300) + point(128, 0.1) + point(256, 3000)));
  EXPECT_EQ(fits[0].segments[1].latency_us, 0);
  EXPECT_NEAR(fits[0].segments[1].busbw_gb_per_s, 256 * 1.048576e3 / 3000 * 1.75, 1e-9);
}

TEST(CollectiveFit, ContinuesByTheTunerAboveAnAlgorithmThatNcclLeaves) {
  const auto fits = fit_of(study(point(0.5, 40) + point(1, 45) + point(64, 300) + point(128, 600)));
  ASSERT_EQ(fits.size(), 2U);
  EXPECT_EQ(fits[0].algorithm, Algorithm::ring);
  ASSERT_EQ(fits[0].segments.size(), 3U) << "0.5 MiB, 32 times that, and the log's end";
  EXPECT_EQ(fits[0].segments[1].up_to_bytes, 16 << 20);
  EXPECT_EQ(fits[0].segments[2].up_to_bytes, 128 << 20);
  EXPECT_EQ(fits[1].algorithm, Algorithm::nvls);
}

TEST(CollectiveFit, FillsWideGapsByTheTuner) {
  const auto fits = fit_of(study(point(4, 100) + point(8, 110) + point(4096, 16000)));
  ASSERT_EQ(fits[0].segments.size(), 3U);
  EXPECT_EQ(fits[0].segments[1].up_to_bytes, 128 << 20);
}

TEST(CollectiveFit, TakesSmallerSizesFromTheLogBelow) {
  const std::string two =
      study(point(64, 300) + point(128, 600), "    below: b\n") +
      "  - {name: b, hardware: h100-sxm, collective: all_reduce, ranks: 8, nodes: 1, source: made up, "
      "points: [" +
      point(16, 150) + point(32, 200) + point(64, 299) + "]}\n";
  const auto fits = fit_of(two);
  ASSERT_EQ(fits[0].segments.size(), 2U);
  EXPECT_EQ(fits[0].segments[0].up_to_bytes, 16 << 20);
  EXPECT_EQ(fits[0].segments[1].up_to_bytes, 64 << 20);
}

TEST(ShippedCollectives, SegmentsOfTheDescriptionsFollowFromTheLogs) {
  const auto logs = shipped_logs();
  for (const CollectiveLog& log : logs) {
    const sim::Hardware hardware = sim::load_hardware(log.hardware);
    for (const FittedTimes& fit : fit_collective_times(log, logs)) {
      const auto found = std::ranges::find_if(hardware.collectives, [&](const auto& times) {
        return times.collective == log.collective && times.algorithm == fit.algorithm && times.nodes == log.nodes;
      });
      ASSERT_NE(found, hardware.collectives.end()) << log.name;
      SCOPED_TRACE(log.name + " " + std::string(to_string(fit.algorithm)));
      ASSERT_EQ(found->segments.size(), fit.segments.size());
      for (std::size_t i = 0; i < fit.segments.size(); ++i) {
        EXPECT_EQ(found->segments[i].up_to_bytes, fit.segments[i].up_to_bytes);
        EXPECT_NEAR(found->segments[i].latency_us, fit.segments[i].latency_us, 0.0051);
        EXPECT_NEAR(found->segments[i].busbw_gb_per_s, fit.segments[i].busbw_gb_per_s, 0.0051);
      }
    }
  }
}

TEST(ShippedCollectives, HeldOutPointsAreWithinTheirBounds) {
  const auto logs = shipped_logs();
  int held_to_a_bound = 0;
  for (const CollectiveRow& row : compare_collective_times(logs)) {
    const double allowed = largest_error_allowed(row.point.bytes);
    if (row.point.use == PointUse::fitted) {
      EXPECT_NEAR(row.error(), 0, 0.001) << row.log->name << " at " << row.point.bytes << " bytes";
    }
    if (row.point.use != PointUse::held_out || allowed == 0) continue;
    ++held_to_a_bound;
    EXPECT_NEAR(row.error(), 0, allowed) << row.log->name << " at " << row.point.bytes << " bytes";
  }
  EXPECT_EQ(held_to_a_bound, 16);
}

TEST(ShippedCollectives, BoundsAreTenPercentFrom128MbAndTwentyBelow) {
  EXPECT_EQ(largest_error_allowed(999'999), 0);
  EXPECT_EQ(largest_error_allowed(1'000'000), 0.20);
  EXPECT_EQ(largest_error_allowed(127'999'999), 0.20);
  EXPECT_EQ(largest_error_allowed(128'000'000), 0.10);
}

TEST(ShippedCollectives, ReportHasEveryPointAndIsNotStale) {
  const auto logs = shipped_logs();
  std::size_t points = 0;
  for (const CollectiveLog& log : logs) points += log.points.size();
  const auto rows = compare_collective_times(logs);
  EXPECT_EQ(rows.size(), points);
  EXPECT_EQ(points, 41U);
  const std::string json = collective_times_json(logs, rows);
  study_testing::expect_page("results/collectives/report.md", collective_times_markdown(logs, rows));
  study_testing::expect_page("results/collectives/results.json", json);
  EXPECT_EQ(parse_json(json)["rows"].size(), points);
}

TEST(CollectiveLogFile, TellsEveryErrorWithItsPlace) {
  std::string unknown = study("{bytes: 8, time_us: 1}");
  unknown.replace(unknown.find("h100-sxm"), 8, "h10");
  study_testing::expect_refused(parse_collective_logs,
                                {{study("{bytes: 0, time_us: 1}"), "a.yaml:9:22: bytes is \"0\""},
                                 {study("{bytes: 8, time_us: -1}"), "time_us is \"-1\", must be a number above 0"},
                                 {study("{bytes: 8}"), "either time_us or busbw_gb_per_s"},
                                 {study("{bytes: 8, time_us: 1, busbw_gb_per_s: 1}"), "either time_us or busbw"},
                                 {study("{bytes: 8, time_us: 1}, {bytes: 8, time_us: 1}"), "bytes must ascend"},
                                 {study("{bytes: 8, times_us: 1}"), "did you mean time_us?"},
                                 {study("{bytes: 8, time_us: 1}", "    below: a\n"), "which is not another log"},
                                 {"study: collective_times\n", "the study has no logs"},
                                 {"study: other\nlogs: []\n", "logs must be a list with at least one item"},
                                 {unknown, "unknown hardware \"h10\"; available: a100-sxm"}});
}

}  // namespace
}  // namespace underlap::bench
