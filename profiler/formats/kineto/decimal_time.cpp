// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/decimal_time.hpp"

#include <charconv>
#include <limits>
#include <system_error>

namespace underlap::formats {
namespace {

constexpr std::int64_t kMostBeforeADigit = (std::numeric_limits<std::int64_t>::max() - 9) / 10;
constexpr int kNanosecondsDigits = 3;

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// A number as digits * 10^exponent.
struct Decimal {
  std::int64_t digits = 0;
  std::int64_t exponent = 0;
};

// Reads digits from `text` into `number`. Digits that do not fit are left out.
void take_digits(std::string_view& text, Decimal& number, bool is_fraction) {
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    const bool fits = number.digits <= kMostBeforeADigit;
    if (fits) number.digits = number.digits * 10 + (text.front() - '0');
    if (fits == is_fraction) number.exponent += is_fraction ? -1 : 1;
  }
}

bool take_exponent(std::string_view text, Decimal& number) {
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto exponent = integer_of(text);
  constexpr std::int64_t kMost = 1000;
  if (!exponent || *exponent > kMost || *exponent < -kMost) return false;
  number.exponent += *exponent;
  return true;
}

std::optional<Decimal> decimal_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  Decimal number;
  take_digits(text, number, false);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    take_digits(text, number, true);
  }
  if (!take_exponent(text, number)) return std::nullopt;
  if (is_negative) number.digits = -number.digits;
  return number;
}

std::optional<std::int64_t> scaled(Decimal number) {
  if (number.digits == 0) return 0;
  for (; number.exponent > 0; --number.exponent)
    if (__builtin_mul_overflow(number.digits, std::int64_t{10}, &number.digits)) return std::nullopt;
  for (; number.exponent < -1 && number.digits != 0; ++number.exponent) number.digits /= 10;
  if (number.exponent < 0) number.digits = (number.digits + (number.digits < 0 ? -5 : 5)) / 10;
  return number.digits;
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of_microseconds(std::string_view text) {
  auto number = decimal_of(text);
  if (!number) return std::nullopt;
  number->exponent += kNanosecondsDigits;
  return scaled(*number);
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> numbers_in(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<std::string_view> numbers;
  for (std::size_t at = text.find_first_of(kDigits); at < text.size(); at = text.find_first_of(kDigits, at)) {
    numbers.push_back(text.substr(at, text.find_first_not_of(kDigits, at) - at));
    at += numbers.back().size();
  }
  return numbers;
}

}  // namespace underlap::formats
