// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/windows.hpp"

#include <gmock/gmock.h>

#include <bitset>
#include <random>

#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/window_agreement.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT

WindowList windows_of(std::vector<Mark> marks) {
  Trace trace;
  trace.marks = std::move(marks);
  return find_windows(trace);
}

TEST(Windows, LieBetweenSuccessiveMarksOfOneRankAndBlock) {
  const WindowList list = windows_of({{0, 0, 4, 10}, {1, 0, 4, 11}, {0, 0, 5, 30}, {1, 0, 5, 33}, {0, 0, 6, 50}});
  EXPECT_THAT(list.windows, ElementsAre(Window{0, 0, 5, 10, 30}, Window{0, 0, 6, 30, 50}, Window{1, 0, 5, 11, 33}));
  EXPECT_THAT(list.errors, IsEmpty());
  EXPECT_THAT(windows_of({{0, 0, 0, 10}, {0, 0, 1, 20}, {0, 1, 2, 90}, {0, 1, 3, 95}}).windows,
              ElementsAre(Window{0, 0, 1, 10, 20}, Window{0, 1, 3, 90, 95}));
}

TEST(Windows, OneMarkBoundsNone) { EXPECT_THAT(windows_of({{0, 0, 0, 10}}).windows, IsEmpty()); }

TEST(Windows, BadMarksAreReportedAndBoundNone) {
  const std::map<std::string, std::vector<Mark>> cases{
      {"repeats step 1", {{0, 0, 1, 10}, {0, 0, 1, 20}}},
      {"is out of order: it follows that of step 2", {{0, 0, 2, 10}, {0, 0, 1, 20}}},
      {"is before the one of step 1", {{0, 0, 1, 10}, {0, 0, 2, 9}}},
      {"a mark is missing", {{0, 0, 1, 10}, {0, 0, 3, 20}}},
  };
  for (auto [message, marks] : cases) {
    marks.insert(marks.end(), {{0, 1, 7, 100}, {0, 1, 8, 200}});
    const WindowList list = windows_of(marks);
    EXPECT_THAT(list.windows, ElementsAre(Window{0, 1, 8, 100, 200})) << message;
    EXPECT_THAT(list.errors, ElementsAre(::testing::AllOf(HasSubstr(message), HasSubstr("rank 0 block 0"))));
  }
}

TEST(Windows, SpanOfARankCoversItsSlicesAlone) {
  Trace trace;
  trace.add_track({0, 0, "a"});
  trace.add_track({1, 0, "a"});
  trace.add(testing_support::slice_of(0, -5, 10));
  trace.add(testing_support::slice_of(0, 7, 1));
  trace.add(testing_support::slice_of(1, 50, 1));
  EXPECT_EQ(span_of_rank(trace, 0), (Window{0, -1, -1, -5, 8}));
  EXPECT_EQ(span_of_rank(trace, 2), std::nullopt);
}

using Lengths = std::vector<std::int64_t>;

TEST(WindowAgreement, IsTheMedianAndTheWorstRatio) {
  const WindowAgreement agreement = compare_windows(Lengths{102, 110, 101}, Lengths{100, 100, 100});
  EXPECT_EQ(agreement.count, 3U);
  EXPECT_DOUBLE_EQ(agreement.median_ratio, 1.02);
  EXPECT_DOUBLE_EQ(agreement.worst_ratio, 1.10);
  EXPECT_EQ(agreement.worst_index, 1U);
  const WindowAgreement short_one = compare_windows(Lengths{120, 50}, Lengths{100, 100});
  EXPECT_DOUBLE_EQ(short_one.worst_ratio, 0.5);
  EXPECT_EQ(short_one.worst_index, 1U);
  EXPECT_DOUBLE_EQ(short_one.median_ratio, 0.85);
  const WindowAgreement equal = compare_windows(Lengths{7, 9}, Lengths{7, 9});
  EXPECT_DOUBLE_EQ(equal.worst_ratio, 1);
  EXPECT_EQ(equal.worst_index, 0U);
}

TEST(WindowAgreement, RefusesListsThatCannotBeCompared) {
  EXPECT_THROW(compare_windows(Lengths{1, 2}, Lengths{1}), std::invalid_argument);
  EXPECT_THROW(compare_windows(Lengths{}, Lengths{}), std::invalid_argument);
  EXPECT_THROW(compare_windows(Lengths{1}, Lengths{0}), std::invalid_argument);
}

constexpr std::int64_t kMoments = 64;
using Moments = std::bitset<kMoments>;

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> moment(0, kMoments);
  std::vector<Interval> intervals(std::uniform_int_distribution<std::size_t>(0, 9)(random));
  for (Interval& i : intervals) i = {moment(random), moment(random)};  // some end before they begin
  return intervals;
}

Moments moments_of(std::span<const Interval> intervals) {
  Moments moments;
  for (const Interval& i : intervals)
    for (std::int64_t t = i.begin; t < i.end; ++t) moments.set(static_cast<std::size_t>(t));
  return moments;
}

void expect_is(const IntervalSet& set, const Moments& moments) {
  ASSERT_EQ(moments_of(set.intervals()), moments);
  ASSERT_EQ(set.length(), static_cast<std::int64_t>(moments.count()));
  for (std::size_t i = 0; i < set.intervals().size(); ++i) {
    ASSERT_LT(set.intervals()[i].begin, set.intervals()[i].end);
    if (i == 0) continue;
    ASSERT_LT(set.intervals()[i - 1].end, set.intervals()[i].begin);
  }
}

TEST(IntervalSet, AgreesWithSetsOfMoments) {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    const auto first = random_intervals(random);
    const auto second = random_intervals(random);
    const IntervalSet a(first);
    const IntervalSet b(second);
    const Moments x = moments_of(first);
    const Moments y = moments_of(second);
    expect_is(a, x);
    expect_is(unite(a, b), x | y);
    expect_is(intersect(a, b), x & y);
    expect_is(subtract(a, b), x & ~y);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace underlap::analysis
