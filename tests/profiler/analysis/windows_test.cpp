// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/windows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace underlap::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WindowList windows_of(std::vector<Mark> marks) {
  Trace trace;
  trace.marks = std::move(marks);
  return find_windows(trace);
}

TEST(Windows, LieBetweenSuccessiveMarksOfOneRankAndBlock) {
  const WindowList list = windows_of({{0, 0, 4, 10}, {1, 0, 4, 11}, {0, 0, 5, 30}, {1, 0, 5, 33}, {0, 0, 6, 50}});
  EXPECT_THAT(list.windows, ElementsAre(Window{0, 0, 5, 10, 30}, Window{0, 0, 6, 30, 50}, Window{1, 0, 5, 11, 33}));
  EXPECT_THAT(list.errors, IsEmpty());
}

TEST(Windows, NeverCrossABlock) {
  const WindowList list = windows_of({{0, 0, 0, 10}, {0, 0, 1, 20}, {0, 1, 2, 90}, {0, 1, 3, 95}});
  EXPECT_THAT(list.windows, ElementsAre(Window{0, 0, 1, 10, 20}, Window{0, 1, 3, 90, 95}));
}

TEST(Windows, OneMarkBoundsNone) { EXPECT_THAT(windows_of({{0, 0, 0, 10}}).windows, IsEmpty()); }

struct BadMarks {
  const char* name;
  std::vector<Mark> marks;
  const char* message;
};

class BadMarksTest : public ::testing::TestWithParam<BadMarks> {};

INSTANTIATE_TEST_SUITE_P(
    Windows, BadMarksTest,
    ::testing::Values(BadMarks{"Duplicate", {{0, 0, 1, 10}, {0, 0, 1, 20}}, "repeats step 1"},
                      BadMarks{"StepBack", {{0, 0, 2, 10}, {0, 0, 1, 20}}, "stands after the one of step 2"},
                      BadMarks{"TimeBack", {{0, 0, 1, 10}, {0, 0, 2, 9}}, "is before the one of step 1"},
                      BadMarks{"Gap", {{0, 0, 1, 10}, {0, 0, 3, 20}}, "a mark is missing"}),
    [](const auto& bad) { return bad.param.name; });

TEST_P(BadMarksTest, AreReportedAndBoundNoWindow) {
  std::vector<Mark> marks = GetParam().marks;
  marks.push_back({0, 1, 7, 100});
  marks.push_back({0, 1, 8, 200});
  const WindowList list = windows_of(marks);
  EXPECT_THAT(list.windows, ElementsAre(Window{0, 1, 8, 100, 200}));
  EXPECT_THAT(list.errors, ElementsAre(::testing::AllOf(HasSubstr(GetParam().message), HasSubstr("rank 0 block 0"))));
}

TEST(Windows, SpanOfARankCoversItsSlicesAlone) {
  Trace trace;
  trace.add_track({0, 0, "a"});
  trace.add_track({1, 0, "a"});
  trace.add({.track = 0, .start_ns = -5, .duration_ns = 10, .tag = {}});
  trace.add({.track = 0, .start_ns = 7, .duration_ns = 1, .tag = {}});
  trace.add({.track = 1, .start_ns = 50, .duration_ns = 1, .tag = {}});
  EXPECT_EQ(span_of_rank(trace, 0), (Window{0, -1, -1, -5, 8}));
  EXPECT_EQ(span_of_rank(trace, 2), std::nullopt);
}

}  // namespace
}  // namespace underlap::analysis
