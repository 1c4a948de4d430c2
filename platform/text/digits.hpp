// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace underlap {

/// `value` with `digits` significant digits; a large value with all its digits, never as 1.2e+04.
inline std::string in_digits(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  return std::abs(value) >= 1 && text.find('e') != std::string::npos ? fmt::format("{:.0f}", value) : text;
}

/// The number that all of `text` is; nullopt for anything else, numbers out of range included.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace underlap
