// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace underlap {

enum class Align : std::uint8_t { left, right };

/// The emphasis of a cell where color was requested.
enum class Style : std::uint8_t {
  plain,
  good,
  bad,
  dim,
  strong,  ///< in Markdown only, as the next
  code
};

struct TableColumn {
  std::string title;
  Align align = Align::right;
  int priority = 0;  ///< 0: always shown; of the others the highest is dropped first
  int widest = 0;    ///< longer texts are wrapped; 0: as wide as its longest text
};

struct TableCell {
  std::string text;
  Style style = Style::plain;

  TableCell() = default;
  TableCell(std::string t, Style s = Style::plain) : text(std::move(t)), style(s) {}  // NOLINT: a text is a cell
};

/// Rows of text under titled columns. Every row has one cell a column.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;
};

struct TableFormat {
  int width = 100;  ///< columns of the terminal; no line is longer, except where 8 characters a column do not fit
  bool color = false;
  bool unicode = false;  ///< false: other characters than ASCII are written in ASCII
};

/// The table with aligned columns. Where it is wider than the terminal, columns are dropped by priority, and a last
/// line names them; where that is not enough, the longest left-aligned columns are wrapped at spaces. Cells are
/// text: visible_text() shows what would act on a terminal. Throws std::invalid_argument where a row has another number
/// of cells than there are columns.
std::string render(const Table& table, const TableFormat& format);

/// The same table in Markdown, all columns; cells as markdown_text() or, with Style::code, markdown_code() shows them.
std::string markdown(const Table& table);

/// Drops the column of that title if all of its rows are "-".
void drop_if_empty(Table& table, std::string_view title);

/// visible_text() of `text` in lines of at most `width` columns, broken at spaces where there are any; those after the
/// first begin with `indent`. Each ends in a line break.
std::string wrap(std::string_view text, int width, std::string_view indent = "");

/// `text` in ASCII: known characters as their usual spelling ("µs" as "us"), others as "?".
std::string ascii(std::string_view text);

}  // namespace underlap
