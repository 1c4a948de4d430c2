// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/clock.hpp"

#include <gmock/gmock.h>

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(ClockFit, FollowsAClockThatIsSlewed) {
  // 500 parts in a million faster, over ten seconds.
  const ClockFit fit({.cupti_ns = 1000 * kMillisecond, .monotonic_ns = 0},
                     {.cupti_ns = 11'005 * kMillisecond, .monotonic_ns = 10'000 * kMillisecond});
  EXPECT_EQ(fit.gained_ns(), 5 * kMillisecond);
  EXPECT_FALSE(fit.was_set());
  EXPECT_EQ(fit.monotonic_ns(1000 * kMillisecond), 0);
  EXPECT_EQ(fit.monotonic_ns(1000 * kMillisecond + 5002'500'000), 5000 * kMillisecond);
  EXPECT_EQ(fit.monotonic_ns(11'005 * kMillisecond), 10'000 * kMillisecond);
}

TEST(ClockFit, TakesNoRateFromMomentsThatAreCloseTogether) {
  const ClockFit fit({.cupti_ns = 0, .monotonic_ns = 100}, {.cupti_ns = 1000, .monotonic_ns = 1200});
  EXPECT_EQ(fit.monotonic_ns(0), 200);
  EXPECT_EQ(fit.monotonic_ns(1000), 1200);
  EXPECT_EQ(fit.monotonic_ns(1'001'000), 1'001'200);
}

TEST(ClockFit, SeesThatTheClockWasSetBackOrForth) {
  const ClockPair first{.cupti_ns = 0, .monotonic_ns = 0};
  EXPECT_TRUE(ClockFit(first, {.cupti_ns = -3600 * 1000 * kMillisecond, .monotonic_ns = kMillisecond}).was_set());
  EXPECT_TRUE(ClockFit(first, {.cupti_ns = 12 * kMillisecond, .monotonic_ns = 10 * kMillisecond}).was_set());
  EXPECT_FALSE(ClockFit(first, {.cupti_ns = 10'050'000, .monotonic_ns = 10 * kMillisecond}).was_set());
}

TEST(ToMonotonic, ConvertsEveryKindAndKeepsWhatRanInTime) {
  Activities activities;
  activities.kernels = {{.at = {.start_ns = 1010, .end_ns = 1020}}, {.at = {.start_ns = 1, .end_ns = 2}}};
  activities.copies = {{.at = {.start_ns = 1030, .end_ns = 1040}},
                       {.at = {.start_ns = 1030, .end_ns = 100 * kMillisecond}}};
  activities.memsets = {{.at = {.start_ns = 1050, .end_ns = 1060}}};
  activities.synchronizations = {{.start_ns = 1070, .end_ns = 1080}};
  activities.overheads = {{.start_ns = 1090, .end_ns = 1100}};
  activities.api_calls = {{.start_ns = 1110, .end_ns = 1120}};
  const ClockPair same{.cupti_ns = 1000, .monotonic_ns = 5 * kMillisecond};
  to_monotonic(activities, {same, same}, 6 * kMillisecond - 500, 6 * kMillisecond);
  const auto start = [](const auto& activity) { return activity.start_ns - 5 * kMillisecond; };
  ASSERT_THAT(activities.kernels, SizeIs(1));
  EXPECT_EQ(start(activities.kernels[0].at), 10);
  EXPECT_EQ(activities.kernels[0].at.end_ns, 5 * kMillisecond + 20);
  ASSERT_THAT(activities.copies, SizeIs(1));
  EXPECT_EQ(start(activities.copies[0].at), 30);
  EXPECT_EQ(start(activities.memsets.at(0).at), 50);
  EXPECT_EQ(start(activities.synchronizations.at(0)), 70);
  EXPECT_EQ(start(activities.overheads.at(0)), 90);
  EXPECT_EQ(start(activities.api_calls.at(0)), 110);
  EXPECT_THAT(activities.skipped, ElementsAre(Pair("copy with a time outside its capture", 1),
                                              Pair("kernel with a time outside its capture", 1)));
}

}  // namespace
}  // namespace underlap::cupti
