// SPDX-License-Identifier: Apache-2.0
#include "kernels/fp8.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "kernels/bf16.hpp"

namespace underlap {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class F>
F from_code(int code) {
  F value;
  value.bits = static_cast<std::uint8_t>(code);
  return value;
}

/// What a format's definition says of a code, without any trick: sign, exponent, mantissa.
struct Definition {
  int exponent_bits, bias;
  bool has_infinity;

  double value(int code) const {
    const int mantissa_bits = 7 - exponent_bits;
    const int exponent = (code & 0x7F) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
    const double sign = (code & 0x80) != 0 ? -1 : 1;
    if (has_infinity && exponent == (1 << exponent_bits) - 1)
      return mantissa == 0 ? sign * kInfinity : std::numeric_limits<double>::quiet_NaN();
    if (!has_infinity && (code & 0x7F) == 0x7F) return std::numeric_limits<double>::quiet_NaN();
    const double fraction = std::ldexp(mantissa, -mantissa_bits);
    return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
  }
};

template <class F>
constexpr Definition kDefinition{};
template <>
constexpr Definition kDefinition<f8e4m3>{4, 7, false};
template <>
constexpr Definition kDefinition<f8e5m2>{5, 15, true};

template <class F>
class Fp8Format : public testing::Test {
 protected:
  /// Finite values that are not negative, ascending, as their codes are.
  std::vector<double> finite() const {
    std::vector<double> values;
    for (int code = 0; code < 128 && std::isfinite(kDefinition<F>.value(code)); ++code)
      values.push_back(kDefinition<F>.value(code));
    return values;
  }
};
using Formats = testing::Types<f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(Fp8Format, Formats);

TYPED_TEST(Fp8Format, EveryCodeMeansWhatTheDefinitionSays) {
  for (int code = 0; code < 256; ++code) {
    const double expected = kDefinition<TypeParam>.value(code);
    const auto actual = static_cast<float>(from_code<TypeParam>(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << code;
    } else {
      EXPECT_EQ(actual, expected) << code;
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << code;
    }
  }
}

TYPED_TEST(Fp8Format, EveryFiniteCodeSurvivesTheWayToFloatAndToBf16AndBack) {
  for (int code = 0; code < 256; ++code) {
    const auto value = static_cast<float>(from_code<TypeParam>(code));
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(TypeParam(value).bits, code);
    EXPECT_EQ(TypeParam(static_cast<float>(bf16(value))).bits, code);
  }
}

TYPED_TEST(Fp8Format, RoundsToTheNearestAndTiesToEven) {
  const std::vector<double> values = this->finite();
  for (std::size_t code = 0; code + 1 < values.size(); ++code) {
    const auto tie = static_cast<float>((values[code] + values[code + 1]) / 2);
    const std::size_t even = code % 2 == 0 ? code : code + 1;
    for (const float sign : {1.0F, -1.0F}) {
      const std::size_t sign_bit = sign < 0 ? 0x80 : 0;
      EXPECT_EQ(TypeParam(sign * tie).bits, even | sign_bit) << tie;
      EXPECT_EQ(TypeParam(sign * std::nextafter(tie, 0.0F)).bits, code | sign_bit) << tie;
      EXPECT_EQ(TypeParam(sign * std::nextafter(tie, kInfinity)).bits, (code + 1) | sign_bit) << tie;
    }
  }
}

TYPED_TEST(Fp8Format, SaturatesAndKeepsNan) {
  const auto largest = static_cast<float>(this->finite().back());
  EXPECT_EQ(TypeParam::max(), largest);
  const std::uint8_t code = TypeParam(largest).bits;
  for (const float large : {largest * 1.01F, largest * 1.5F, std::numeric_limits<float>::max(), kInfinity}) {
    EXPECT_EQ(TypeParam(large).bits, code) << large;
    EXPECT_EQ(TypeParam(-large).bits, code | 0x80) << large;
  }
  for (const std::uint32_t word : {0x7F800001U, 0x7FFFFFFFU, 0xFFC00000U})
    EXPECT_EQ(TypeParam(std::bit_cast<float>(word)).bits, 0x7F);
}

TYPED_TEST(Fp8Format, RandomFloatsGoToTheNearestValue) {
  const std::vector<double> values = this->finite();
  std::mt19937 random(5);
  for (int i = 0; i < 200'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value) || std::abs(value) > values.back()) continue;
    const auto above = std::lower_bound(values.begin(), values.end(), std::abs(value));
    const double high = *above, low = above == values.begin() ? high : *(above - 1);
    const double error = std::abs(static_cast<float>(TypeParam(value)) - static_cast<double>(value));
    ASSERT_EQ(error, std::min(high - std::abs(value), std::abs(std::abs(value) - low))) << value;
  }
}

TEST(Fp8, LargestFiniteValuesAreThoseOfThePaper) {
  EXPECT_EQ(largest_finite(DataType::f8e4m3), 448);
  EXPECT_EQ(largest_finite(DataType::f8e5m2), 57344);
}

}  // namespace
}  // namespace underlap
