// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/figure_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platform/text/escape.hpp"

namespace underlap::analysis {
namespace {

// Decimals that leave a column of milliseconds narrow.
int decimals_of(const FigureTable& table) {
  double largest_ns = 0;
  for (const FigureRow& row : table.rows)
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].unit == FigureUnit::time) largest_ns = std::max(largest_ns, row.figures[i].value_or(0));
  return largest_ns >= 1e9 ? 1 : largest_ns >= 1e8 ? 2 : 3;
}

std::string number_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

std::string text_of(const FigureColumn& column, const std::optional<double>& figure, int decimals) {
  if (!figure || (column.dash_for_zero && *figure == 0)) return "-";
  switch (column.unit) {
    case FigureUnit::time: return fmt::format("{:.{}f}", *figure / 1e6, decimals);
    case FigureUnit::short_time: return fmt::format("{:.1f}", *figure / 1e3);
    case FigureUnit::percent: return fmt::format("{:.1f} %", *figure);
    case FigureUnit::number: return number_text(*figure);
    case FigureUnit::megabytes: return fmt::format("{:.3f}", *figure / 1e6);
  }
  return "";
}

// Removes common parts of kernel names without information first, then shortens the name.
std::string shortened(std::string name, std::size_t longest) {
  for (const std::string_view common : {"(anonymous namespace)::", "<unnamed>::", "at::native::"})
    for (std::size_t at = name.find(common); at != std::string::npos && name.size() > longest; at = name.find(common))
      name.erase(at, common.size());
  return name.size() <= longest ? name : std::string(first_characters(name, longest - 3)) + "...";
}

std::string_view unit_suffix(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::time:
    case FigureUnit::short_time: return "_us";
    case FigureUnit::percent: return "_pct";
    case FigureUnit::number: return "";
    case FigureUnit::megabytes: return "_bytes";
  }
  return "";
}

}  // namespace

Table table_of(const FigureTable& figures, std::size_t longest_name) {
  const int decimals = decimals_of(figures);
  Table table;
  table.rows.resize(figures.rows.size());
  for (std::size_t column = 0; column < figures.names.size(); ++column) {
    const auto same = [&](const FigureRow& row) { return row.names[column] == figures.rows.front().names[column]; };
    if (figures.names[column].only_where_it_differs && std::ranges::all_of(figures.rows, same)) continue;
    table.columns.push_back({figures.names[column].title, Align::left});
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      table.rows[i].emplace_back(shortened(figures.rows[i].names[column], longest_name), Style::code);
  }
  for (std::size_t column = 0; column < figures.columns.size(); ++column) {
    const FigureColumn& about = figures.columns[column];
    std::vector<std::string> texts;
    for (const FigureRow& row : figures.rows) texts.push_back(text_of(about, row.figures[column], decimals));
    if (std::ranges::all_of(texts, [](const std::string& text) { return text == "-"; })) continue;
    table.columns.push_back({about.title, Align::right, about.priority});
    for (std::size_t i = 0; i < table.rows.size(); ++i) table.rows[i].emplace_back(texts[i]);
  }
  return table;
}

std::string render(const FigureTable& figures, const TableFormat& format, std::size_t longest_name) {
  return underlap::render(table_of(figures, longest_name), format);
}

std::string csv_key(const FigureColumn& column) { return column.key + std::string(unit_suffix(column.unit)); }

double csv_value(const FigureColumn& column, double figure) {
  const bool is_time = column.unit == FigureUnit::time || column.unit == FigureUnit::short_time;
  return (is_time ? figure / 1e3 : figure) + 0.0;  // minus zero becomes zero
}

std::string csv(const FigureTable& table) {
  std::string out;
  const auto put = [&](const std::string& text) { out += (out.empty() || out.back() == '\n' ? "" : ",") + text; };
  for (const NameColumn& name : table.names) put(csv_field(name.key));
  for (const FigureColumn& column : table.columns) put(csv_field(csv_key(column)));
  out += "\n";
  for (const FigureRow& row : table.rows) {
    for (std::size_t i = 0; i < row.names.size(); ++i) out += (i == 0 ? "" : ",") + csv_field(row.names[i]);
    for (std::size_t i = 0; i < row.figures.size(); ++i)
      out += row.figures[i] ? fmt::format(",{}", csv_value(table.columns[i], *row.figures[i])) : ",";
    out += "\n";
  }
  return out;
}

}  // namespace underlap::analysis
