// SPDX-License-Identifier: Apache-2.0
#include "platform/text/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>

#include "platform/text/digits.hpp"

namespace underlap {
namespace {

// The only terminal sequences of our own, those of platform/table.cpp.
constexpr std::array<std::string_view, 4> kColors{"\033[32m", "\033[31m", "\033[2m", "\033[0m"};

struct Range {
  char32_t first, last;
};

// Characters that act or hide: control characters, bidirectional and zero-width ones, line separators, fillers without
// a shape, tags, and what XML cannot hold.
constexpr std::array<Range, 20> kUnsafe{{{0x00, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
                                         {0x61C, 0x61C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
                                         {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},   {0x2800, 0x2800},
                                         {0x3164, 0x3164}, {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
                                         {0xFFFE, 0xFFFF}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}}};

bool is_unsafe(char32_t code) {
  return std::ranges::any_of(kUnsafe, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

bool is_plain_char(char c) { return c >= 0x20 && c < 0x7F; }

char32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3FU);
  return code;
}

std::string escape_of(char32_t code) {
  switch (code) {
    case U'\n': return "\\n";
    case U'\r': return "\\r";
    case U'\t': return "\\t";
    default: break;
  }
  const auto number = static_cast<std::uint32_t>(code);
  if (number < 0x80) return fmt::format("\\x{:02x}", number);
  return number <= 0xFFFF ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

// JSON has only codes of 16 bits.
std::string json_escape_of(char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  if (number <= 0xFFFF) return fmt::format("\\u{:04x}", number);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((number - 0x10000) >> 10), 0xDC00 + ((number - 0x10000) & 0x3FF));
}

/// The first character of `text`, which is not empty.
struct Character {
  std::string_view bytes;
  std::optional<char32_t> code;  ///< nothing where it is a byte that is not UTF-8
};

Character first_of(std::string_view text) {
  const std::size_t length = utf8_length(text);
  if (length == 0) return {text.substr(0, 1), std::nullopt};
  return {text.substr(0, length), code_of(text.substr(0, length))};
}

// `text` with each unsafe character as `escape` makes it, except those in `kept`; bytes that are not UTF-8 as "\xff".
std::string escaped(std::string_view text, std::string_view kept, std::string (*escape)(char32_t)) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain_char) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [bytes, code] = first_of(text);
    text.remove_prefix(bytes.size());
    if (!code)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    else if (is_unsafe(*code) && kept.find(bytes) == std::string_view::npos)
      out += escape(*code);
    else
      out += bytes;
  }
  return out;
}

// "##[" and "##vso[": commands of CI systems, wherever they are on a line.
bool starts_ci_command(std::string_view text) {
  if (!text.starts_with("##")) return false;
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 2);
  return end != std::string_view::npos && text[end] == '[';
}

// `hash` replaces the first "#" of each.
std::string without_ci_commands(std::string_view text, std::string_view hash) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_ci_command(text.substr(i)))
      out += hash;
    else
      out += text[i];
  }
  return out;
}
constexpr std::string_view kHash = "#\\";
constexpr std::string_view kJsonHash = "\\u0023";

// One line of output. GitHub takes "::name ...::" for a command where only blanks are in front of it.
std::string without_commands(std::string_view line) {
  std::string out = without_ci_commands(line, kHash);
  const std::size_t start = out.find_first_not_of(" \t");
  if (start != std::string::npos && out.compare(start, 2, "::") == 0) out.insert(start, "\\");
  return out;
}

std::string visible_between_colors(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('\033'), text.size());
    out += escaped(text.substr(0, at), "\n\t", escape_of);
    text.remove_prefix(at);
    if (text.empty()) break;
    const auto color = std::ranges::find_if(kColors, [&](std::string_view code) { return text.starts_with(code); });
    out += color == kColors.end() ? escape_of(U'\033') : std::string(*color);
    text.remove_prefix(color == kColors.end() ? 1 : color->size());
  }
  return out;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_ascii_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Length of what sites make a link of wherever it is: a mention, the number of an issue, an address. In code it is
// none.
std::size_t link_trigger(std::string_view text) {
  const char next = text.size() > 1 ? text[1] : ' ';
  if (text[0] == '@' && is_word(next)) return 1;
  if ((text[0] == '#' || text[0] == '!') && is_ascii_digit(next)) return 1;
  if (text.starts_with("://")) return 3;
  constexpr std::string_view kWeb = "www.";
  const auto same = [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); };
  return text.size() > kWeb.size() && std::equal(kWeb.begin(), kWeb.end(), text.begin(), same) ? kWeb.size() : 0;
}

// "[label]: address" where a line starts.
bool starts_definition(std::string_view text, std::size_t at) {
  return text.find_first_not_of(' ') == at && text.find("]:", at) != std::string_view::npos;
}

// Whether Markdown may take the character at `at` for one of its own. Others stay as they are, so that figures such as
// "[0.9, 1.1]" and names such as "reduce_scatter" are read as text in the source, too.
bool is_markdown(std::string_view text, std::size_t at) {
  const char previous = at > 0 ? text[at - 1] : ' ', next = at + 1 < text.size() ? text[at + 1] : ' ';
  switch (text[at]) {
    case '\\':
    case '`':
    case '<':
    case '|':
    case '~':
    case '$': return true;
    case '*': return previous != ' ' || next != ' ';
    case '&': return next == '#' || is_word(next);
    case '#': return previous == '#';
    case '_': return !is_word(previous) || !is_word(next);
    case '[': return next == '[' || next == '^' || starts_definition(text, at);
    case ']': return next == '(' || next == '[';
    default: return false;
  }
}

// Where a backslash keeps the start of a line from being a heading, a quotation or an item of a list.
std::optional<std::size_t> block_mark(std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return std::nullopt;
  const char next = start + 1 < text.size() ? text[start + 1] : '\0';
  const char first = text[start];
  if (first == '>' || first == '=') return start;
  if (first == '#' && (next == ' ' || next == '#')) return start;
  if ((first == '-' || first == '+' || first == '*') && next == ' ') return start;
  if (first == '-' && next == '-') return start;
  const std::size_t end = text.find_first_not_of("0123456789", start);
  const bool is_number = end != std::string_view::npos && end > start && (text[end] == '.' || text[end] == ')');
  return is_number && (end + 1 == text.size() || text[end + 1] == ' ') ? std::optional(end) : std::nullopt;
}

// One more backtick than the most in a row.
std::string fence_for(std::string_view text, std::size_t least) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  return std::string(std::max(least, longest + 1), '`');
}

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<double>(text).has_value();
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Too long a form of a character, half a pair, or more than Unicode has.
  const bool is_outside = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
                          (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return is_outside ? 0 : length;
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  constexpr std::size_t kLongest = 4;  // bytes of a character
  if (text.size() <= most) return text;
  for (std::size_t end = most; end > 0 && end + kLongest > most; --end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) return text.substr(0, end);
  return text.substr(0, most);
}

std::string visible_text(std::string_view text) { return escaped(text, "", escape_of); }

std::string laid_out_text(std::string_view text, Colors colors) {
  const std::string visible = colors == Colors::kept ? visible_between_colors(text) : escaped(text, "\n\t", escape_of);
  std::string out;
  out.reserve(visible.size());
  for (std::size_t start = 0; start < visible.size();) {
    const std::size_t end = std::min(visible.find('\n', start), visible.size() - 1) + 1;
    out += without_commands(std::string_view(visible).substr(start, end - start));
    start = end;
  }
  return out;
}

std::string json_escaped(std::string json) {
  const bool is_plain = std::ranges::all_of(json, [](char c) { return is_plain_char(c) || c == '\n'; });
  if (!is_plain) json = escaped(json, "\n", json_escape_of);
  return json.find("##") == std::string::npos ? json : without_ci_commands(json, kJsonHash);
}

std::string markdown_text(std::string_view text) {
  const std::string visible = visible_text(text);
  const std::optional<std::size_t> mark = block_mark(visible);
  std::string out;
  for (std::size_t i = 0; i < visible.size();) {
    const std::size_t trigger = link_trigger(std::string_view(visible).substr(i));
    if (trigger > 0) {
      out += fmt::format("`{}`", visible.substr(i, trigger));
      i += trigger;
      continue;
    }
    if (mark == i || is_markdown(visible, i)) out += '\\';
    out += visible[i++];
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  const std::string visible = without_ci_commands(visible_text(text), kHash);
  const std::string fence = fence_for(visible, 1);
  // Blanks keep a backtick at an end apart from the fence; one on each side is not part of the code.
  const bool needs_blanks = visible.empty() || visible.front() == '`' || visible.back() == '`';
  return needs_blanks ? fmt::format("{} {} {}", fence, visible, fence) : fence + visible + fence;
}

std::string markdown_block(std::string_view text) {
  const std::string lines = laid_out_text(text);
  const std::string fence = fence_for(lines, 3);
  return fmt::format("{}\n{}{}{}\n", fence, lines, lines.empty() || lines.ends_with('\n') ? "" : "\n", fence);
}

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : escaped(text, "\n\t", escape_of)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n': out += "&#10;"; break;
      default: out += c;
    }
  }
  return without_ci_commands(out, "&#35;");
}

std::string annotation_text(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : escaped(text, "\n\r\t", escape_of)) {
    const bool separates = is_property && (c == ':' || c == ',');
    if (c == '%' || c == '\n' || c == '\r' || separates)
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return without_ci_commands(out, kHash);
}

std::string csv_field(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@";
  std::string field = without_ci_commands(visible_text(text), kHash);
  if (field.size() > 1 && kFormula.find(field[0]) != std::string_view::npos && !is_number(field)) field.insert(0, "'");
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace underlap
