// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace underlap {

/// `value` with `digits` significant digits; a large value with all its digits, never as 1.2e+04.
inline std::string in_digits(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  return std::abs(value) >= 1 && text.find('e') != std::string::npos ? fmt::format("{:.0f}", value) : text;
}

}  // namespace underlap
