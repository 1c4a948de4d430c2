// SPDX-License-Identifier: Apache-2.0
#include "platform/problems.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "platform/suggestion.hpp"

namespace underlap::yaml {
std::string Problems::text(Place place) const {
  if (place.override_index >= 0) return flags_.at(static_cast<std::size_t>(place.override_index));
  return fmt::format("{}:{}:{}", file_, place.line, place.column);
}

std::vector<Message> Problems::messages() const {
  std::vector<Message> messages;
  messages.reserve(found_.size());
  for (const auto& [place, message] : found_) messages.push_back({text(place), message});
  return messages;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kLongest)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else
      out += c;
  }
  return out + (text.size() > kLongest ? "...\"" : "\"");
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  const auto found = suggestions(word, candidates);
  return found.empty() ? std::string_view() : found.front();
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> parts;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) parts.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return parts;
}

}  // namespace underlap::yaml
