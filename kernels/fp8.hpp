// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "profiler/trace/data_type.hpp"

namespace underlap {

/// An 8-bit float: a sign, then the exponent, then kMantissaBits. kMaxCode is the code of the largest finite value.
/// Every value is exact in bf16 and in float.
///
/// Converts from float by rounding to nearest, ties to even, and saturates: values that are too large, including
/// infinity, become the largest finite value. NaN becomes 0x7F regardless of its sign, as with the GPU's instruction.
/// Source: Micikevicius et al. 2022, "FP8 formats for deep learning", table 1.
template <int kMantissaBits, int kBias, std::uint32_t kMaxCode>
struct Fp8 {
  std::uint8_t bits = 0;

  constexpr Fp8() = default;
  constexpr explicit Fp8(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    const std::uint32_t code = magnitude < kSmallestNormal ? subnormal(magnitude) : normal(magnitude);
    const std::uint32_t saturated = code < kMaxCode ? code : kMaxCode;
    bits = static_cast<std::uint8_t>(magnitude > kInfinity ? 0x7FU : saturated | ((word >> 24) & 0x80U));
  }
  constexpr explicit operator float() const {
    const std::uint32_t code = bits & 0x7FU;
    // The exponent's bits in float's place are off by the biases' difference, for subnormal values too.
    const float magnitude = std::bit_cast<float>(code << kShift) * std::bit_cast<float>((254U - kBias) << 23);
    const std::uint32_t word = code > kMaxCode ? beyond(code) : std::bit_cast<std::uint32_t>(magnitude);
    return std::bit_cast<float>(word | (static_cast<std::uint32_t>(bits & 0x80U) << 24));
  }

  static constexpr float max() {
    Fp8 largest;
    largest.bits = kMaxCode;
    return static_cast<float>(largest);
  }

 private:
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr std::uint32_t kInfinity = 0x7F800000U;
  static constexpr std::uint32_t kSmallestNormal = (128U - kBias) << 23;

  static constexpr std::uint32_t normal(std::uint32_t magnitude) {
    const std::uint32_t half = (1U << (kShift - 1)) - 1 + ((magnitude >> kShift) & 1U);
    return ((magnitude + half) >> kShift) - ((127U - kBias) << kMantissaBits);
  }
  // Added to a float whose last bit weighs as much as the smallest value, a number is rounded to a multiple of that.
  static constexpr std::uint32_t subnormal(std::uint32_t magnitude) {
    constexpr std::uint32_t kUnit = (128U - kBias - kMantissaBits + 23U) << 23;
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kUnit)) - kUnit;
  }
  // The format that keeps an infinity has it just above the largest finite value.
  static constexpr std::uint32_t beyond(std::uint32_t code) {
    constexpr bool kHasInfinity = kMaxCode < 0x7EU;
    return kHasInfinity && code == kMaxCode + 1 ? kInfinity : 0x7FC00000U;
  }
};

/// 4 bits of exponent, 3 of mantissa: up to 448, no infinity. For weights and activations.
using f8e4m3 = Fp8<3, 7, 0x7E>;
/// 5 bits of exponent, 2 of mantissa: up to 57344. For gradients.
using f8e5m2 = Fp8<2, 15, 0x7B>;

/// Calls f with a null pointer of the type that `dtype` names: f(f8e5m2*) for f8e5m2, else f(f8e4m3*).
template <class F>
constexpr auto with_fp8_type(DataType dtype, F f) {
  if (dtype == DataType::f8e5m2) return f(static_cast<f8e5m2*>(nullptr));
  return f(static_cast<f8e4m3*>(nullptr));
}

/// The largest finite value of an fp8 type: 448 for f8e4m3, 57344 for f8e5m2.
constexpr float largest_finite(DataType dtype) {
  return with_fp8_type(dtype, []<class T>(T*) { return T::max(); });
}

}  // namespace underlap
