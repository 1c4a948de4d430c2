// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "profiler/trace/data_type.hpp"

namespace underlap {

/// A brain float: the upper half of an IEEE binary32. Converts from float by rounding to nearest, ties to even.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  constexpr explicit bf16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    // A NaN whose payload lies in the lower half must not round into an infinity.
    bits = static_cast<std::uint16_t>(is_nan ? (word >> 16) | 0x0040U : (word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

/// Calls f with a null pointer of the type that `dtype` names: f(bf16*) for bf16, else f(float*).
template <class F>
void with_float_type(DataType dtype, F f) {
  if (dtype == DataType::bf16) return f(static_cast<bf16*>(nullptr));
  f(static_cast<float*>(nullptr));
}

}  // namespace underlap
