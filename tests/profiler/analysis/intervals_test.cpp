// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/intervals.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <random>
#include <vector>

namespace underlap::analysis {
namespace {

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

TEST(IntervalSet, OneHoleCutsTwoIntervals) {
  const IntervalSet a({{0, 10}, {20, 30}});
  EXPECT_EQ(subtract(a, IntervalSet({{5, 25}})), IntervalSet({{0, 5}, {25, 30}}));
}

}  // namespace
}  // namespace underlap::analysis
