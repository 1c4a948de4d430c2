// SPDX-License-Identifier: Apache-2.0
#include "platform/json.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <stdexcept>

#include "platform/input/input_file.hpp"
#include "platform/text/escape.hpp"

namespace underlap {
namespace {

using nlohmann::ordered_json;

// More levels than any document of ours has. The library writes a value by a function that calls itself for each.
constexpr std::size_t kDeepestJson = 100;

// The place where `text` goes deeper.
std::optional<std::size_t> too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++depth > kDeepestJson) return i;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return std::nullopt;
}

template <class Json>
std::string text_of(const Json& value, int indent) {
  return json_escaped(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

std::string json_text(const nlohmann::json& value, int indent) { return text_of(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return text_of(value, indent); }

ordered_json parse_json(std::string_view text) {
  constexpr int kSyntax = 101;  // the library's number of such an error
  if (const auto at = too_deep(text))
    throw ordered_json::parse_error::create(kSyntax, *at, fmt::format("nested deeper than {} levels", kDeepestJson),
                                            nullptr);
  return ordered_json::parse(text);
}

ordered_json parse_json_or_discard(std::string_view text) {
  if (too_deep(text)) return ordered_json(ordered_json::value_t::discarded);
  return ordered_json::parse(text, nullptr, false);
}

ordered_json parse_json_of(const std::filesystem::path& file, std::string_view text) {
  try {
    return parse_json(text);
  } catch (const ordered_json::exception& error) {
    const std::string what = error.what();  // "[json.exception...] parse error at line 3, ..."
    throw std::invalid_argument(fmt::format("{}: not valid JSON:{}", file.string(), what.substr(what.find(']') + 1)));
  }
}

ordered_json read_json_file(const std::filesystem::path& file) {
  return parse_json_of(file, read_input_file(file, {.memory_factor = kJsonMemoryFactor}));
}

}  // namespace underlap
