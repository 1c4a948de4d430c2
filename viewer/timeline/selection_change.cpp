// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/selection_change.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace underlap::viewer {
namespace {

using analysis::FigureColumn;
using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;

using Line = std::pair<std::string, std::optional<double>>;

// The times of a part, one line each: a line for the part and, for communication, an indented line for each column
// after the first.
std::vector<Line> lines_of(const FigureTable& parts) {
  std::vector<Line> lines;
  for (const FigureRow& row : parts.rows) {
    const std::string& part = row.names.front();
    const std::size_t indent = part.find_first_not_of(' ');
    lines.emplace_back(part, row.figures.front());
    const bool is_communication = row.figures[1].has_value();
    for (std::size_t column = 1; column < parts.columns.size() && is_communication; ++column) {
      if (parts.columns[column].unit != FigureUnit::time) continue;
      const std::string& title = parts.columns[column].title;
      lines.emplace_back(std::string(indent + 2, ' ') + part.substr(indent) + " " + title.substr(0, title.rfind(' ')),
                         row.figures[column]);
    }
  }
  return lines;
}

std::vector<FigureColumn> sides_and_change() {
  return {{"baseline ms", "baseline"}, {"candidate ms", "candidate"}, {"change ms", "change"}};
}

}  // namespace

FigureTable parts_change(const Selection& baseline, const Selection& candidate) {
  const auto before = lines_of(parts_of(baseline)), now = lines_of(parts_of(candidate));
  FigureTable table{{{"part", "part"}}, sides_and_change(), {}};
  // What a side has nothing of it has 0 of; what of it is not known stays so.
  const auto figure_of = [](const std::vector<Line>& lines, const std::string& name) {
    const auto line = std::ranges::find(lines, name, &Line::first);
    return line == lines.end() ? std::optional(0.0) : line->second;
  };
  const auto add = [&](const std::string& name) {
    const std::optional<double> from = figure_of(before, name), to = figure_of(now, name);
    table.rows.push_back({{name}, {from, to, from && to ? std::optional(*to - *from) : std::nullopt}});
  };
  for (const auto& [name, figure] : now) add(name);
  for (const auto& [name, figure] : before)
    if (std::ranges::find(now, name, &Line::first) == now.end()) add(name);
  return table;
}

FigureTable names_change(const Selection& baseline, const Selection& candidate, std::size_t most) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max(), kCount = 0, kTime = 1;
  const FigureTable before = names_of(baseline, kAll), now = names_of(candidate, kAll);
  FigureTable table{before.names, sides_and_change(), {}};
  table.columns.push_back({"count before", "count_before", FigureUnit::number});
  table.columns.push_back({"count after", "count_after", FigureUnit::number});
  std::map<std::vector<std::string>, std::pair<const FigureRow*, const FigureRow*>> sides;
  for (const FigureRow& row : before.rows) sides[row.names].first = &row;
  for (const FigureRow& row : now.rows) sides[row.names].second = &row;
  const auto figure = [](const FigureRow* row, std::size_t column) {
    return row == nullptr ? std::nullopt : row->figures[column];
  };
  for (const auto& [names, rows] : sides) {
    const auto& [from, to] = rows;
    const double change = figure(to, kTime).value_or(0) - figure(from, kTime).value_or(0);
    table.rows.push_back(
        {names, {figure(from, kTime), figure(to, kTime), change, figure(from, kCount), figure(to, kCount)}});
  }
  std::ranges::stable_sort(table.rows, std::ranges::greater(),
                           [](const FigureRow& row) { return std::abs(row.figures[2].value_or(0)); });
  if (table.rows.size() > most) table.rows.resize(most);
  return table;
}

}  // namespace underlap::viewer
