// SPDX-License-Identifier: Apache-2.0
#include "platform/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace underlap::yaml {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

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
  constexpr std::size_t kLongest = 80;  // longer than any key: not a slip, and the distance costs its square
  if (word.size() > kLongest) return {};
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best && distance < candidate.size()) {
      best = distance;
      found = candidate;
    }
  }
  return found;
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
