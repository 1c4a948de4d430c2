// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/common_subsequence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace underlap::compare {
namespace {

using Sequence = std::vector<std::uint32_t>;

// By the table of all prefixes.
std::size_t longest(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      table[i + 1][j + 1] = a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
  return table[a.size()][b.size()];
}

void expect_is_common(const Sequence& a, const Sequence& b,
                      const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_LT(pairs[i].first, a.size());
    ASSERT_LT(pairs[i].second, b.size());
    EXPECT_EQ(a[pairs[i].first], b[pairs[i].second]);
    if (i == 0) continue;
    EXPECT_LT(pairs[i - 1].first, pairs[i].first);
    EXPECT_LT(pairs[i - 1].second, pairs[i].second);
  }
}

TEST(CommonSubsequence, IsALongestOne) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Sequence a(random() % 30), b(random() % 30);
    const std::uint32_t letters = 1 + random() % 5;
    for (Sequence* sequence : {&a, &b})
      for (std::uint32_t& symbol : *sequence) symbol = random() % letters;
    const auto pairs = common_subsequence(a, b);
    expect_is_common(a, b, pairs);
    ASSERT_EQ(pairs.size(), longest(a, b)) << "round " << round;
  }
}

TEST(CommonSubsequence, FindsALongStepWithFewChanges) {
  Sequence a(1'000'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint32_t>(i * i % 97);
  Sequence b = a;
  b.erase(b.begin() + 500'000, b.begin() + 500'010);
  b.insert(b.begin() + 20, 12345);
  EXPECT_EQ(common_subsequence(a, b).size(), a.size() - 10);
}

TEST(CommonSubsequence, EndsOnSequencesThatHaveLittleInCommon) {
  std::mt19937 random(1);
  Sequence a(100'000), b(100'000);
  for (std::uint32_t& symbol : a) symbol = random() % 1000;
  for (std::uint32_t& symbol : b) symbol = 500 + random() % 1000;
  const auto pairs = common_subsequence(a, b);
  expect_is_common(a, b, pairs);
  EXPECT_GT(pairs.size(), 1000U);
}

}  // namespace
}  // namespace underlap::compare
