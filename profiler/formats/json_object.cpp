// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/json_object.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "platform/text/escape.hpp"

namespace underlap::formats {
namespace {

bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = is_plain(static_cast<unsigned char>(text.front())) ? 1 : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_escape(std::string& out, unsigned char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto num_plain = static_cast<std::size_t>(special - text.begin());
    out += text.substr(0, num_plain);
    text.remove_prefix(num_plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (c < 0x80)
      append_escape(out, c);
    else
      out += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  out += '"';
}

void append_exact_text(std::string& out, std::string_view text) {
  if (is_utf8(text)) return append_json_string(out, text);
  out += "{\"hex\":\"";
  for (const char c : text) fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  out += "\"}";
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    const char* const last = hex.data() + std::min(i + 2, hex.size());
    const auto [end, error] = std::from_chars(hex.data() + i, last, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) throw std::out_of_range("not two hexadecimal digits");
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

void append_microseconds(std::string& out, std::int64_t ns) {
  const auto size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (ns < 0) out += '-';
  out += fmt::format_int(size / 1000).c_str();
  const auto rest = static_cast<unsigned>(size % 1000);
  const char digits[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)};
  out.append(digits, sizeof digits);
}

std::string& JsonObject::member(std::string_view key) {
  if (!is_first_) out_ += ',';
  is_first_ = false;
  append_json_string(out_, key);
  out_ += ':';
  return out_;
}

}  // namespace underlap::formats
