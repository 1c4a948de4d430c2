// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/compare/steps.hpp"

namespace underlap::compare {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CompareReport report_of(const Steps& from, const Steps& to) {
  CompareReport report{.from = "before", .to = "after"};
  Comparison& comparison = report.comparisons.emplace_back();
  comparison.change = change_of(from, to);
  const auto windows = static_cast<double>(comparison.change->windows);
  comparison.from_step_ns = static_cast<double>(comparison.change->from.window_ns) / windows;
  comparison.to_step_ns = static_cast<double>(comparison.change->to.window_ns) / windows;
  return report;
}

std::string text_of(const CompareReport& report, int width = 200) {
  return compare_text(report, {.width = width}, Details::largest);
}

// Reductions of a million nanoseconds and more, one bucket after the other, in a step that lasts as long as they do.
Steps buckets(std::int32_t count, std::int64_t each_ns) {
  std::vector<Work> work;
  for (std::int32_t bucket = 0; bucket < count; ++bucket)
    work.push_back({"reduce", bucket * each_ns, (bucket + 1) * each_ns, Kind::communication, 1, -1, bucket});
  work.push_back({"fc1", count * each_ns, count * each_ns + 1000});
  return Steps().add(0, 2, work, true, count * each_ns + 1000);
}

TEST(CompareReport, TellsOfBucketsThatAreFewerOnBalance) {
  const std::string text = text_of(report_of(buckets(14, 1'000'000), buckets(8, 2'000'000)));
  EXPECT_THAT(text, AllOf(HasSubstr("; reduce cost most, +2.000 ms"), HasSubstr("14 -> 8 (6 removed)"),
                          Not(HasSubstr("reduce (removed)"))));
}

TEST(CompareReport, CountsOneWindowAsOne) {
  const Steps one = Steps().add(0, 1, {{"fc1", 0, 500}}), other = Steps().add(0, 1, {{"fc1", 0, 600}});
  EXPECT_THAT(text_of(report_of(one, other)), HasSubstr("\n1 window of each side"));
}

}  // namespace
}  // namespace underlap::compare
