// SPDX-License-Identifier: Apache-2.0
#include "platform/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "platform/text/escape.hpp"

namespace underlap {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kSmallestWrapWidth = 8;
constexpr std::string_view kReset = "\033[0m";
constexpr std::array<std::string_view, 6> kStyleCodes{"", "\033[32m", "\033[31m", "\033[2m", "", ""};

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Terminal columns of UTF-8 text whose characters are one column wide each.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

// Bytes of the first `columns` characters.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  for (; i < text.size(); ++i)
    if (!continues(text[i]) && columns-- == 0) break;
  return i;
}

// Cuts a word that is too long after its last separator within `fits` bytes, as in paths and names of settings.
std::size_t cut_within(std::string_view word, std::size_t fits) {
  const std::size_t separator = word.find_last_of("/_.,=", fits - 1);
  return separator == std::string_view::npos || separator < fits / 2 ? fits : separator + 1;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (width_of(text) > width) {
    const std::size_t fits = bytes_of(text, width);
    std::size_t space = text.rfind(' ', fits);
    // A per cent sign stays with its figure.
    if (space != std::string_view::npos && space > 0 && text.substr(space + 1).starts_with('%'))
      space = text.rfind(' ', space - 1);
    const bool at_space = space != std::string_view::npos && space > 0;
    const std::size_t cut = cut_within(text, fits);
    lines.emplace_back(text.substr(0, at_space ? space : cut));
    text.remove_prefix(at_space ? space + 1 : cut);
  }
  lines.emplace_back(text);
  return lines;
}

void check(const Table& table) {
  for (const auto& row : table.rows)
    if (row.size() != table.columns.size())
      throw std::invalid_argument(
          fmt::format("table: a row has {} cells, there are {} columns", row.size(), table.columns.size()));
}

class Renderer {
 public:
  Renderer(const Table& table, const TableFormat& format) : table_(table), format_(format) {
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      std::size_t width = width_of(shown(table_.columns[c].title));
      for (const auto& row : table_.rows) width = std::max(width, width_of(shown(row[c].text)));
      if (const int widest = table_.columns[c].widest; widest > 0)
        width = std::min(width, static_cast<std::size_t>(widest));
      widths_.push_back(width);
      columns_.push_back(c);
    }
    while (total_width() > limit() && drop_one()) {
    }
    // Words are cut only where nothing else helps.
    while (total_width() > limit() && shrink_one([&](std::size_t c) { return longest_word(c); })) {
    }
    while (total_width() > limit() && shrink_one([](std::size_t) { return kSmallestWrapWidth; })) {
    }
  }

  std::string text() const {
    std::vector<TableCell> titles;
    for (const TableColumn& column : table_.columns) titles.emplace_back(column.title);
    std::string out = row_text(titles) + rule();
    for (const auto& row : table_.rows) out += row_text(row);
    return out + dropped_text();
  }

 private:
  std::size_t limit() const { return static_cast<std::size_t>(std::max(format_.width, 1)); }

  std::string shown(const std::string& text) const {
    const std::string visible = visible_text(text);
    return format_.unicode ? visible : ascii(visible);
  }

  std::size_t total_width() const {
    const std::size_t gaps = columns_.empty() ? 0 : kGap.size() * (columns_.size() - 1);
    return std::accumulate(columns_.begin(), columns_.end(), gaps,
                           [&](std::size_t sum, std::size_t c) { return sum + widths_[c]; });
  }

  bool drop_one() {
    // Of equal priorities the one further right goes first.
    std::size_t least = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const int priority = priority_of(i);
      if (priority > 0 && (least == columns_.size() || priority >= priority_of(least))) least = i;
    }
    if (least == columns_.size()) return false;
    dropped_.push_back(columns_[least]);
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(least));
    return true;
  }

  int priority_of(std::size_t shown_index) const { return table_.columns[columns_[shown_index]].priority; }

  std::size_t longest_word(std::size_t column) const {
    std::size_t longest = kSmallestWrapWidth;
    const auto look_at = [&](std::string_view text) {
      for (const auto word : std::views::split(text, ' '))
        longest = std::max(longest, width_of({word.begin(), word.end()}));
    };
    look_at(shown(table_.columns[column].title));
    for (const auto& row : table_.rows) look_at(shown(row[column].text));
    return longest;
  }

  // Narrows the widest left-aligned column that is above its least width: to what fits, but not far below the next.
  bool shrink_one(const std::function<std::size_t(std::size_t)>& least) {
    std::vector<std::size_t> wrappable;
    std::ranges::copy_if(columns_, std::back_inserter(wrappable), [&](std::size_t c) {
      return table_.columns[c].align == Align::left && widths_[c] > least(c);
    });
    if (wrappable.empty()) return false;
    std::ranges::sort(wrappable, std::ranges::greater{}, [&](std::size_t c) { return widths_[c]; });
    std::size_t& widest = widths_[wrappable.front()];
    const std::size_t next = wrappable.size() > 1 ? widths_[wrappable[1]] : 0;
    const std::size_t excess = total_width() - limit();
    const std::size_t fits = widest > excess ? widest - excess : 0;
    widest = std::max({fits, std::min(next, widest - 1), least(wrappable.front())});
    return true;
  }

  std::string padded(const std::string& line, std::size_t c, Style style) const {
    const std::string padding(widths_[c] - std::min(widths_[c], width_of(line)), ' ');
    const std::string_view code = format_.color ? kStyleCodes[static_cast<std::size_t>(style)] : "";
    const std::string styled = code.empty() ? line : fmt::format("{}{}{}", code, line, kReset);
    return table_.columns[c].align == Align::left ? styled + padding : padding + styled;
  }

  std::string row_text(const std::vector<TableCell>& row) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const std::size_t c : columns_) {
      cells.push_back(wrapped(shown(row[c].text), widths_[c]));
      height = std::max(height, cells.back().size());
    }
    std::string out;
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string& part = line < cells[i].size() ? cells[i][line] : "";
        text += padded(part, columns_[i], row[columns_[i]].style);
        if (i + 1 < columns_.size()) text += kGap;
      }
      out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
  }

  std::string rule() const {
    std::string out;
    for (std::size_t i = 0; i < std::min(total_width(), limit()); ++i) out += format_.unicode ? "─" : "-";
    return out + "\n";
  }

  std::string dropped_text() const {
    if (dropped_.empty()) return "";
    std::string names;
    for (const std::size_t c : dropped_) names += (names.empty() ? "" : ", ") + shown(table_.columns[c].title);
    std::string out;
    const std::string note = fmt::format("not shown in {} columns: {}", format_.width, names);
    for (const std::string& line : wrapped(note, std::max(kSmallestWrapWidth, limit()))) out += line + "\n";
    return out;
  }

  const Table& table_;
  const TableFormat& format_;
  std::vector<std::size_t> columns_;  // shown, left to right
  std::vector<std::size_t> dropped_;
  std::vector<std::size_t> widths_;
};

std::string markdown_cell(const TableCell& cell) {
  if (cell.style == Style::strong) return "**" + markdown_text(cell.text) + "**";
  if (cell.style != Style::code) return markdown_text(cell.text);
  std::string out;
  for (const char c : markdown_code(cell.text)) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string markdown_row(const std::vector<TableCell>& cells) {
  std::string out = "|";
  for (const TableCell& cell : cells) out += " " + markdown_cell(cell) + " |";
  return out + "\n";
}

}  // namespace

std::string render(const Table& table, const TableFormat& format) {
  check(table);
  return Renderer(table, format).text();
}

std::string markdown(const Table& table) {
  check(table);
  std::vector<TableCell> titles;
  std::string rules = "|";
  for (const TableColumn& column : table.columns) {
    titles.emplace_back(column.title);
    rules += column.align == Align::left ? " :-- |" : " --: |";
  }
  std::string out = markdown_row(titles) + rules + "\n";
  for (const auto& row : table.rows) out += markdown_row(row);
  return out;
}

std::string wrap(std::string_view text, int width, std::string_view indent) {
  const std::string visible = visible_text(text);
  std::string_view rest = visible;
  const std::size_t least = indent.size() + kSmallestWrapWidth;
  const std::size_t columns = std::max(least, static_cast<std::size_t>(std::max(width, 0)));
  const std::string first = wrapped(rest, columns).front();
  std::string out = first + "\n";
  rest.remove_prefix(first.size());
  if (rest.empty()) return out;
  if (rest.front() == ' ') rest.remove_prefix(1);
  for (const std::string& line : wrapped(rest, columns - indent.size())) out += std::string(indent) + line + "\n";
  return out;
}

std::string ascii(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSpellings{
      {{"µ", "u"}, {"μ", "u"}, {"±", "+-"}, {"−", "-"}, {"×", "x"}, {"→", "->"}}};
  std::string out;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, bytes_of(text, 1));
    const auto known =
        std::ranges::find_if(kSpellings, [&](const auto& spelling) { return spelling.first == character; });
    if (known != kSpellings.end())
      out += known->second;
    else
      out += character.size() == 1 && static_cast<unsigned char>(character[0]) < 0x80 ? character : "?";
    text.remove_prefix(std::max<std::size_t>(1, character.size()));
  }
  return out;
}

void drop_if_empty(Table& table, std::string_view title) {
  const auto column = std::ranges::find(table.columns, title, &TableColumn::title);
  const auto index = column - table.columns.begin();
  const auto is_empty = [index](const std::vector<TableCell>& row) {
    return row[static_cast<std::size_t>(index)].text == "-";
  };
  if (column == table.columns.end() || !std::ranges::all_of(table.rows, is_empty)) return;
  table.columns.erase(column);
  for (std::vector<TableCell>& row : table.rows) row.erase(row.begin() + index);
}

}  // namespace underlap
