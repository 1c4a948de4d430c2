// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/step_choice.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <system_error>

#include "profiler/analysis/steps/step_ranges.hpp"

namespace underlap::analysis {
namespace {

constexpr std::string_view kDigits = "0123456789";

std::optional<std::int32_t> number_of(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<std::pair<std::int32_t, std::int32_t>> numbers_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto first = number_of(text.substr(0, colon));
  const auto last = number_of(text.substr(colon + 1));
  if (!first || !last) return std::nullopt;
  if (*last < *first)
    throw std::invalid_argument(fmt::format("--steps is \"{}\": the last step is before the first", text));
  return std::pair(*first, *last);
}

}  // namespace

StepChoice step_choice_from(std::string_view text) {
  if (text.empty()) throw std::invalid_argument("--steps is empty; give NAME, A:B or NAME,A:B");
  if (const auto numbers = numbers_of(text)) return {.numbers = numbers};
  if (const std::size_t comma = text.rfind(','); comma != std::string_view::npos && comma > 0)
    if (const auto numbers = numbers_of(text.substr(comma + 1)))
      return {.name = std::string(text.substr(0, comma)), .numbers = numbers};
  return {.name = std::string(text)};
}

std::string to_string(const StepChoice& choice) {
  const std::string numbers = choice.numbers ? fmt::format("{}:{}", choice.numbers->first, choice.numbers->second) : "";
  return choice.name + (choice.name.empty() || numbers.empty() ? "" : ",") + numbers;
}

NumberedName numbered_name(std::string_view name) {
  if (const auto step = step_name(name)) return *step;
  const std::size_t last = name.find_last_not_of(kDigits);
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  const auto number = number_of(name.substr(digits));
  const std::size_t end = name.substr(0, digits).find_last_not_of(" _#:=-.");
  if (!number || end == std::string_view::npos) return {std::string(name), std::nullopt};
  return {std::string(name.substr(0, end + 1)), number};
}

}  // namespace underlap::analysis
