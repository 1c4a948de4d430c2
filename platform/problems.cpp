// SPDX-License-Identifier: Apache-2.0
#include "platform/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "platform/text/escape.hpp"

namespace underlap::yaml {
void Problems::add(Place place, std::string message) {
  if (!is_full())
    found_.emplace(place, std::move(message));
  else if (!found_.contains({place, message}))
    ++num_more_;
}

void Problems::merge(const Problems& other) {
  for (const auto& [place, message] : other.found_) add(place, message);
  num_more_ = std::max(num_more_, other.num_more_);
}

std::string Problems::text(Place place) const {
  if (place.override_index >= 0) return flags_.at(static_cast<std::size_t>(place.override_index));
  return fmt::format("{}:{}:{}", file_, place.line, place.column);
}

std::vector<Message> Problems::messages() const {
  std::vector<Message> messages;
  messages.reserve(found_.size());
  for (const auto& [place, message] : found_) messages.push_back({text(place), message});
  if (num_more_ > 0)
    messages.push_back({file_, fmt::format("at least {} more errors follow; fix these {} first", num_more_, kMost)});
  return messages;
}

void Problems::throw_any() const {
  if (!empty()) throw std::invalid_argument(joined_lines(messages()));
}

std::string joined_lines(const std::vector<Message>& messages) {
  std::string lines;
  for (const Message& message : messages) lines += (lines.empty() ? "" : "\n") + message.text();
  return lines;
}

std::string_view hint_of(std::string_view message) {
  const std::size_t behind = message.find("; ");
  if (behind != std::string_view::npos) return message.substr(behind + 2);
  const std::size_t demand = message.find("must be ");
  if (demand == std::string_view::npos) return {};
  message.remove_prefix(demand);
  return message.substr(0, message.rfind(", not "));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const std::string_view start = first_characters(text, kLongest);
  std::string out = "\"";
  for (const char c : start) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return visible_text(out) + (text.size() > start.size() ? "...\"" : "\"");
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
