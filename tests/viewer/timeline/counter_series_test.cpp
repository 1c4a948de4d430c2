// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/counter_series.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace underlap::viewer {
namespace {

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
