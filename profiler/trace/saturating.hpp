// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace underlap {

/// a + b and a - b, which stop at the ends of the integers instead of going past them: a damaged trace may hold any
/// time and any size.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? -Limits::max() : Limits::max();
}

constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? -Limits::max() : Limits::max();
}

/// Whether a time is at most 146 years from its clock's zero: no run comes there, and differences of two such times
/// fit.
constexpr bool is_time(std::int64_t ns) {
  constexpr std::int64_t kLatest = std::int64_t{1} << 62;
  return -kLatest < ns && ns < kLatest;
}

}  // namespace underlap
