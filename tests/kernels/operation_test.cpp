// SPDX-License-Identifier: Apache-2.0
#include "kernels/operation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "kernels/bf16.hpp"

namespace underlap {
namespace {

float rounded(float value) { return static_cast<float>(bf16(value)); }

TEST(Bf16, RoundsToNearest) {
  EXPECT_EQ(rounded(1.0F), 1.0F);
  EXPECT_EQ(rounded(1.0F + 1.0F / 512), 1.0F);
  EXPECT_EQ(rounded(1.0F + 3.0F / 512), 1.0F + 1.0F / 128);
  EXPECT_EQ(rounded(-1.0F - 3.0F / 512), -1.0F - 1.0F / 128);
}

TEST(Bf16, RoundsTiesToEven) {
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3F808000U)).bits, 0x3F80);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3F818000U)).bits, 0x3F82);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3F808001U)).bits, 0x3F81);
}

TEST(Bf16, EveryValueSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    bf16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const auto wide = static_cast<float>(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(rounded(wide)));
    } else {
      EXPECT_EQ(bf16(wide).bits, bits);
    }
  }
}

TEST(Bf16, NanStaysNanAndTheLargestFloatsBecomeInfinite) {
  // A NaN whose payload is in the lower half only.
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7F800001U))));
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0xFFFFFFFFU))));
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
}

std::set<std::int64_t> elements_of(const View& view) {
  std::set<std::int64_t> elements;
  for (std::int64_t r = 0; r < view.rows; ++r) {
    for (std::int64_t c = 0; c < view.cols; ++c) elements.insert(view.offset + r * view.leading_dimension + c);
  }
  return elements;
}

bool share_an_element(const View& a, const View& b) {
  const std::set<std::int64_t> in_a = elements_of(a), in_b = elements_of(b);
  return std::ranges::any_of(in_a, [&](std::int64_t element) { return in_b.contains(element); });
}

class RandomViews {
 public:
  View next() {
    View view{.tensor = tensor, .offset = upto(40), .rows = upto(5), .cols = upto(6)};
    view.leading_dimension = view.cols + upto(9);
    return view;
  }

  Tensor tensor{.id = 1, .dtype = DataType::bf16, .elements = 1000};

 private:
  std::int64_t upto(std::int64_t limit) { return std::uniform_int_distribution<std::int64_t>(0, limit)(random_); }

  std::mt19937_64 random_{7};
};

TEST(Overlap, IsExactForStridedViews) {
  RandomViews views;
  int overlapping = 0;
  constexpr int kPairs = 20000;
  for (int i = 0; i < kPairs; ++i) {
    const View a = views.next(), b = views.next();
    const bool expected = share_an_element(a, b);
    overlapping += expected ? 1 : 0;
    ASSERT_EQ(overlap(a, b), expected) << "a: " << a.offset << " + [" << a.rows << ", " << a.cols << "] every "
                                       << a.leading_dimension << ", b: " << b.offset << " + [" << b.rows << ", "
                                       << b.cols << "] every " << b.leading_dimension;
    ASSERT_EQ(overlap(b, a), expected);
  }
  EXPECT_GT(overlapping, kPairs / 10);
  EXPECT_LT(overlapping, kPairs * 9 / 10);
}

TEST(Overlap, ColumnsOfOnePackedTensorAreApart) {
  const Tensor packed{.id = 1, .dtype = DataType::bf16, .elements = 96};
  const View q{.tensor = packed, .offset = 0, .rows = 8, .cols = 4, .leading_dimension = 12};
  View k = q;
  k.offset = 4;
  EXPECT_FALSE(overlap(q, k));
  k.offset = 3;
  EXPECT_TRUE(overlap(q, k));
}

TEST(Overlap, OfDifferentTensorsOrEmptyViewsIsNone) {
  const Tensor a{.id = 1, .dtype = DataType::f32, .elements = 8}, b{.id = 2, .dtype = DataType::f32, .elements = 8};
  EXPECT_TRUE(overlap(flat(a), flat(a)));
  EXPECT_FALSE(overlap(flat(a), flat(b)));
  EXPECT_FALSE(overlap(flat(a, 4, 0), flat(a)));
}

TEST(View, KnowsItsSizeAndItsEnd) {
  const Tensor tensor{.id = 1, .dtype = DataType::bf16, .elements = 100};
  const View view{.tensor = tensor, .offset = 10, .rows = 3, .cols = 4, .leading_dimension = 20};
  EXPECT_EQ(view.bytes(), 24);
  EXPECT_EQ(view.end(), 54);
  EXPECT_FALSE(view.is_dense());
  EXPECT_TRUE(matrix(tensor, 3, 4, 10).is_dense());
  EXPECT_EQ(flat(tensor).elements(), 100);
}

TEST(Operation, HandsItsParametersToTheImplementation) {
  struct Parameters {
    double a = 0;
    std::int64_t b = 0;
  };
  const Operation operation =
      Operation(intern("test"), [](const Arguments&) {}, {}, {}).with_parameters(Parameters{1.5, 7});
  const Operation copy = operation;
  const auto got = Arguments({}, copy.parameters()).parameters<Parameters>();
  EXPECT_EQ(got.a, 1.5);
  EXPECT_EQ(got.b, 7);
}

}  // namespace
}  // namespace underlap
