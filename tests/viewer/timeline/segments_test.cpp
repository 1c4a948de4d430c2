// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/viewer/timeline/random_segments.hpp"
#include "viewer/timeline/counter_series.hpp"

namespace underlap::viewer {
namespace {

TEST(Segments, TreeTellsOfAnyRangeWhatLookingAtEachWould) {
  std::mt19937 random(1);
  for (const std::size_t count : {1U, 15U, 16U, 17U, 256U, 5000U}) {
    const Segments segments = testing_support::random_segments(random, count, 40);
    for (int i = 0; i < 200; ++i) {
      std::uniform_int_distribution<std::size_t> any(0, count);
      std::size_t from = any(random), to = any(random);
      if (from > to) std::swap(from, to);
      Content expected;
      for (std::size_t s = from; s < to; ++s)
        expected.add(segments.shade(s), static_cast<float>(segments.end_ns(s) - segments.begin_ns(s)));
      const Content found = segments.content(from, to);
      EXPECT_EQ(found.compute_ns, expected.compute_ns);
      EXPECT_EQ(found.hidden_ns, expected.hidden_ns);
      EXPECT_EQ(found.exposed_ns, expected.exposed_ns);
      EXPECT_EQ(found.other_ns, expected.other_ns);
      EXPECT_EQ(found.exposed, expected.exposed);
      EXPECT_EQ(found.exposed_modes, expected.exposed_modes);
      EXPECT_EQ(found.hidden_modes, expected.hidden_modes);
    }
  }
}

TEST(Segments, FindsTheFirstThatEndsAfterAMoment) {
  Segments segments;
  segments.add(10, 20, {Paint::compute});
  segments.add(20, 30, {Paint::compute});
  segments.add(50, 60, {Paint::copy});
  segments.finish();
  EXPECT_EQ(segments.first_ending_after(0), 0U);
  EXPECT_EQ(segments.first_ending_after(19), 0U);
  EXPECT_EQ(segments.first_ending_after(20), 1U);
  EXPECT_EQ(segments.first_ending_after(40), 2U);
  EXPECT_EQ(segments.first_ending_after(60), 3U);
}

TEST(Segments, FindsTheFirstThatBeginsAtAMomentFromAnyPlace) {
  std::mt19937 random(2);
  const Segments segments = testing_support::random_segments(random, 3000, 20);
  for (int i = 0; i < 500; ++i) {
    const std::size_t from = std::uniform_int_distribution<std::size_t>(0, 2999)(random);
    const std::int64_t time = segments.begin_ns(from) + std::uniform_int_distribution<std::int64_t>(1, 9000)(random);
    std::size_t expected = from;
    while (expected < segments.size() && segments.begin_ns(expected) < time) ++expected;
    EXPECT_EQ(segments.first_beginning_at(time, from), expected);
  }
}

TEST(Segments, ExtendsWhatTouchesAndIsAlike) {
  Segments segments;
  segments.extend(0, 10, {Paint::compute});
  segments.extend(10, 15, {Paint::compute});
  segments.extend(15, 20, {Paint::hidden, bit_of(Mode::dp)});
  segments.extend(20, 25, {Paint::hidden, bit_of(Mode::tp)});
  segments.extend(30, 35, {Paint::hidden, bit_of(Mode::tp)});
  segments.finish();
  ASSERT_EQ(segments.size(), 4U);
  EXPECT_EQ(segments.end_ns(0), 15);
}

TEST(Segments, KeepsTheLengthOfWhatIsLongerThanAColumnHolds) {
  constexpr std::int64_t kYear = 31'557'600'000'000'000;
  Segments segments;
  segments.add(0, 5, {Paint::copy});
  segments.add(5, 5 + 200 * kYear, {Paint::compute});
  segments.extend(5 + 200 * kYear, 6 + 200 * kYear, {Paint::compute});
  segments.add(7 + 200 * kYear, 8 + 200 * kYear, {Paint::copy});
  segments.finish();
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments.end_ns(0), 5);
  EXPECT_EQ(segments.end_ns(1), 6 + 200 * kYear);
  EXPECT_EQ(segments.end_ns(2), 8 + 200 * kYear);
  EXPECT_EQ(segments.first_ending_after(100 * kYear), 1U);
  EXPECT_FLOAT_EQ(segments.content(0, 3).compute_ns, static_cast<float>(200 * kYear));
}

TEST(CounterSeries, TreeTellsOfAnyRangeWhatLookingAtEachWould) {
  std::mt19937 random(3);
  for (const std::size_t count : {1U, 16U, 17U, 255U, 257U, 5000U}) {
    CounterSeries series;
    std::vector<std::pair<std::int64_t, double>> samples;
    for (std::size_t i = 0; i < count; ++i)
      samples.emplace_back(std::uniform_int_distribution<std::int64_t>(0, 10'000)(random),
                           std::uniform_real_distribution<>(-1, 1)(random));
    for (const auto& [time, value] : samples) series.add(time, value);
    series.finish();
    std::ranges::stable_sort(samples, {}, &std::pair<std::int64_t, double>::first);
    for (int i = 0; i < 200; ++i) {
      std::size_t from = std::uniform_int_distribution<std::size_t>(0, count)(random);
      std::size_t to = std::uniform_int_distribution<std::size_t>(0, count)(random);
      if (from > to) std::swap(from, to);
      ValueRange expected;
      for (std::size_t s = from; s < to; ++s) expected.take({samples[s].second, samples[s].second});
      EXPECT_EQ(series.range(from, to).least, expected.least) << count << ", " << from << " to " << to;
      EXPECT_EQ(series.range(from, to).most, expected.most);
      EXPECT_EQ(series.range(from, to).is_empty(), from == to);
    }
  }
}

TEST(CounterSeries, FindsTheFirstAtAMoment) {
  CounterSeries series;
  series.add(20, 2);
  series.add(10, 1);
  series.finish();
  EXPECT_EQ(series.value(0), 1);
  EXPECT_EQ(series.first_at(10), 0U);
  EXPECT_EQ(series.first_at(11), 1U);
  EXPECT_EQ(series.first_at(21), 2U);
}

}  // namespace
}  // namespace underlap::viewer
