// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/element_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace underlap::check {
namespace {

constexpr std::int64_t kElements = 40;
const Tensor kTensor{1, DataType::f32, kElements};

View random_view(std::mt19937& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  View view{.tensor = kTensor, .offset = 0, .rows = pick(0, 4), .cols = pick(0, 6), .leading_dimension = 0};
  view.leading_dimension = view.cols + pick(0, 3);
  if (view.end() > kElements) view.rows = 1;
  view.offset = pick(0, kElements - view.end());
  return view;
}

std::vector<std::int64_t> elements_of(const View& view) {
  std::vector<std::int64_t> elements;
  for (std::int64_t r = 0; r < view.rows; ++r)
    for (std::int64_t c = 0; c < view.cols; ++c) elements.push_back(view.offset + r * view.leading_dimension + c);
  return elements;
}

TEST(ElementSet, IsWhatOneBitAnElementIs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    ElementSet set;
    std::vector<bool> bits(kElements, false);
    for (int change = 0; change < 12; ++change) {
      const View view = random_view(random);
      const bool is_added = random() % 3 != 0;
      is_added ? set.add(view) : set.remove(view);
      for (const std::int64_t e : elements_of(view)) bits[static_cast<std::size_t>(e)] = is_added;
      const View asked = random_view(random);
      const std::vector<std::int64_t> elements = elements_of(asked);
      const auto is_in = [&](std::int64_t e) { return bits[static_cast<std::size_t>(e)]; };
      EXPECT_EQ(set.has_any(asked), std::any_of(elements.begin(), elements.end(), is_in));
      const auto missing = set.first_missing(asked);
      const auto first = std::find_if_not(elements.begin(), elements.end(), is_in);
      ASSERT_EQ(missing.has_value(), first != elements.end());
      if (!missing) continue;
      EXPECT_EQ(missing->begin, *first);
      ASSERT_LT(missing->begin, missing->end);
      for (std::int64_t e = missing->begin; e < missing->end; ++e) EXPECT_FALSE(is_in(e));
    }
  }
}

TEST(ElementSet, OfTouchingRangesIsOneRange) {
  ElementSet set;
  set.add(flat(kTensor, 0, 4));
  set.add(flat(kTensor, 8, 4));
  EXPECT_EQ(set.first_missing(flat(kTensor, 2, 8)), (ElementRange{4, 8}));
  set.add(flat(kTensor, 4, 4));
  EXPECT_EQ(set.first_missing(flat(kTensor, 0, 12)), std::nullopt);
  EXPECT_EQ(set.first_missing(flat(kTensor, 10, 4)), (ElementRange{12, 14}));
}

}  // namespace
}  // namespace underlap::check
