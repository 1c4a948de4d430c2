// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace underlap::formats {

/// Nanoseconds of a decimal number of microseconds, as "4458676522690.655" or "1.5e3", to the nearest: no double
/// between, which would not hold the nanoseconds of a time since 1970. nullopt for what is no number or does not fit.
std::optional<std::int64_t> nanoseconds_of_microseconds(std::string_view text);

/// The integer that the text is; nullopt for any other text, and where it does not fit.
std::optional<std::int64_t> integer_of(std::string_view text);

/// The same where `Number` can hold it; `otherwise` for any other text.
template <class Number>
Number integer_within(std::string_view text, Number otherwise) {
  const auto number = integer_of(text);
  return number && std::in_range<Number>(*number) ? static_cast<Number>(*number) : otherwise;
}

/// The runs of digits in a text: 132, 1 and 1 of "[132, 1, 1]".
std::vector<std::string_view> numbers_in(std::string_view text);

}  // namespace underlap::formats
