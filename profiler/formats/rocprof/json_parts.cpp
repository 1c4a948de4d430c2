// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/rocprof/json_parts.hpp"

#include <algorithm>

#include "profiler/formats/kineto/json_brackets.hpp"

namespace underlap::formats::rocprof {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kSeparators = " \t\r\n,";

void skip(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

// The length of the string that `text` begins with, with its quotes; npos where the text ends first.
std::size_t string_length(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  }
  return std::string_view::npos;
}

std::size_t bracket_length(std::string_view text) {
  JsonBrackets brackets;
  std::size_t depth = 0;
  const std::size_t length = brackets.scan(
      text, [&](std::size_t) { ++depth; }, [&](std::size_t) { return --depth > 0; });
  return depth == 0 ? length : std::string_view::npos;
}

std::size_t value_length(std::string_view text) {
  if (text.starts_with('{') || text.starts_with('[')) return bracket_length(text);
  if (text.starts_with('"')) return string_length(text);
  return text.find_first_of(",}]");
}

// Removes the value that `text` begins with.
JsonPart take_value(std::string_view& text, std::string_view key) {
  const std::size_t length = value_length(text);
  const JsonPart part{key, text.substr(0, length), length != std::string_view::npos};
  text.remove_prefix(part.value.size());
  return part;
}

}  // namespace

std::vector<JsonPart> json_members(std::string_view text) {
  std::vector<JsonPart> members;
  if (!text.starts_with('{')) return members;
  text.remove_prefix(1);
  for (;;) {
    skip(text, kSeparators);
    if (!text.starts_with('"')) return members;
    const std::size_t length = string_length(text);
    if (length == std::string_view::npos) return members;
    const std::string_view key = text.substr(1, length - 2);
    text.remove_prefix(length);
    skip(text, kSpace);
    if (!text.starts_with(':')) return members;
    text.remove_prefix(1);
    skip(text, kSpace);
    if (text.empty()) return members;
    members.push_back(take_value(text, key));
  }
}

JsonPart json_member(const std::vector<JsonPart>& members, std::string_view key) {
  const auto found = std::ranges::find(members, key, &JsonPart::key);
  return found == members.end() ? JsonPart{} : *found;
}

std::size_t for_each_json_element(std::string_view text, const std::function<void(const JsonPart&)>& take) {
  if (!text.starts_with('[')) return 0;
  std::size_t others = 0;
  JsonBrackets brackets;
  std::size_t depth = 0, begin = 0, last_end = 1;
  const auto count_between = [&](std::size_t end) {
    if (text.substr(last_end, end - last_end).find_first_not_of(kSeparators) != std::string_view::npos) ++others;
  };
  brackets.scan(
      text,
      [&](std::size_t at) {
        if (++depth != 2) return;
        count_between(at);
        begin = at;
      },
      [&](std::size_t at) {
        if (--depth == 0) {
          count_between(at);
          return false;
        }
        if (depth > 1) return true;
        last_end = at + 1;
        take({{}, text.substr(begin, last_end - begin), true});
        return true;
      });
  if (depth > 1) take({{}, text.substr(begin), false});
  return others;
}

}  // namespace underlap::formats::rocprof
