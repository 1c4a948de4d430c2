// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/strings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>

#include "platform/text/escape.hpp"

namespace underlap::formats {
namespace {

constexpr std::string_view kEscapes = "\"\\/bfnrtu";
constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";

std::optional<unsigned> hex4(std::string_view digits) {
  unsigned value = 0;
  if (digits.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + 4, value, 16);
  if (error != std::errc{} || end != digits.data() + 4) return std::nullopt;
  return value;
}

void append_utf8(std::string& text, unsigned code) {
  const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

constexpr bool is_high_half(unsigned code) { return 0xD800 <= code && code < 0xDC00; }
constexpr bool is_low_half(unsigned code) { return 0xDC00 <= code && code < 0xE000; }

// `rest` begins after "\u". Returns how much of it was used; 0: not a code.
std::size_t append_code(std::string_view rest, std::string& text) {
  constexpr unsigned kReplacement = 0xFFFD;
  const auto code = hex4(rest);
  if (!code) return 0;
  if (is_high_half(*code) && rest.substr(4).starts_with("\\u")) {
    const auto low = hex4(rest.substr(6));
    if (low && is_low_half(*low)) {
      append_utf8(text, 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00));
      return 10;
    }
  }
  append_utf8(text, is_high_half(*code) || is_low_half(*code) ? kReplacement : *code);
  return 4;
}

}  // namespace

std::string json_text(std::string_view raw) {
  std::string text;
  for (std::size_t at = 0; at < raw.size();) {
    const char next = raw[at] == '\\' && at + 1 < raw.size() ? raw[at + 1] : '\0';
    const std::size_t escape = next == '\0' ? std::string_view::npos : kEscapes.find(next);
    if (escape == std::string_view::npos) {
      text += raw[at++];
    } else if (escape < kMeanings.size()) {
      text += kMeanings[escape];
      at += 2;
    } else if (const std::size_t taken = append_code(raw.substr(at + 2), text); taken > 0) {
      at += 2 + taken;
    } else {
      text += raw[at++];
    }
  }
  return text;
}

std::string mended_json(std::string_view event) {
  std::string mended;
  bool in_string = false;
  for (std::size_t at = 0; at < event.size();) {
    const char c = event[at];
    const std::size_t length = utf8_length(event.substr(at));
    if (in_string && c == '\\' && at + 1 < event.size()) {
      const char next = event[at + 1];
      const bool is_known =
          kEscapes.find(next) != std::string_view::npos && (next != 'u' || hex4(event.substr(at + 2)));
      mended += is_known ? event.substr(at, 2) : "\\\\";
      at += is_known ? 2 : 1;
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (length == 0) {
      mended += '?';
    } else if (in_string && static_cast<unsigned char>(c) < 0x20) {
      mended += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      mended += event.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return mended;
}

}  // namespace underlap::formats
