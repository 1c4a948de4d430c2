// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "profiler/page/bars.hpp"
#include "profiler/page/html.hpp"
#include "profiler/report/charts/chart_tables.hpp"
#include "profiler/report/page/mode_bars.hpp"
#include "profiler/report/page/run_page.hpp"

namespace underlap::report {
namespace {

using analysis::FigureRow, analysis::FigureTable;
using page::axis_row, page::digits_for, page::grid, page::key, page::kRowHeight, page::mark, page::picture_row;
using page::rect, page::Scale;

// A cell with overlap off and the cells compared with it, as indices in the order of the matrix.
using Group = std::vector<std::size_t>;

// A cell without an off cell joins the group of the cells that refer to it as their no_comm cell, else it is alone.
std::vector<Group> groups_of(const std::vector<CellSummary>& summaries) {
  std::map<std::string, std::string> off_of_no_comm;
  for (const CellSummary& summary : summaries)
    if (!summary.no_comm_cell.empty() && !summary.off_cell.empty())
      off_of_no_comm.emplace(summary.no_comm_cell, summary.off_cell);
  std::vector<Group> groups;
  std::map<std::string, std::size_t> group_of;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const std::string& name = summaries[i].name;
    const std::string own = off_of_no_comm.contains(name) ? off_of_no_comm[name] : name;
    const std::string& key = summaries[i].off_cell.empty() ? own : summaries[i].off_cell;
    const auto [entry, is_new] = group_of.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(i);
  }
  return groups;
}

using Values = std::vector<std::pair<std::string, std::string>>;

bool is_shared(const RunResults& results, const Group& group, const Values::value_type& value) {
  return group.size() > 1 && std::ranges::all_of(group, [&](std::size_t cell) {
           return std::ranges::find(results.cells[cell].values, value) != results.cells[cell].values.end();
         });
}

std::string joined(const Values& values) {
  std::string text;
  for (const auto& [axis, value] : values)
    text += (text.empty() ? "" : " ") + (value == "true" || value == "false" ? axis + "=" + value : value);
  return text;
}

// What all cells of a group have in common, and what sets one of them apart from the others.
std::string title_of(const RunResults& results, const Group& group) {
  Values shared;
  for (const auto& value : results.cells[group.front()].values)
    if (is_shared(results, group, value)) shared.push_back(value);
  return joined(shared);
}

std::string label_of(const RunResults& results, const Group& group, std::size_t cell) {
  Values own;
  for (const auto& value : results.cells[cell].values)
    if (!is_shared(results, group, value)) own.push_back(value);
  return own.empty() ? results.cells[cell].name : joined(own);
}

/// What the pictures are drawn from, as the viewer's charts of the same run.
struct PictureFigures {
  FigureTable steps;
  FigureTable modes;
};

// The first row with such names; null where there is none.
const FigureRow* first_row(const FigureTable& table, const std::vector<std::string>& names) {
  const auto begins = [&](const FigureRow& row) {
    return std::ranges::equal(names, row.names | std::views::take(names.size()));
  };
  const auto found = std::ranges::find_if(table.rows, begins);
  return found == table.rows.end() ? nullptr : &*found;
}

double ms_of(const FigureRow& row, std::size_t column) { return row.figures[column].value_or(0) / 1e6; }

std::string step_drawing(const FigureRow& step, const FigureRow* off, const Scale& scale) {
  const double median = scale.percent(ms_of(step, StepsTable::median));
  std::string drawing = grid(scale) + rect("step", 0, median, 8, 6);
  if (step.figures[StepsTable::low]) {
    const double low = scale.percent(ms_of(step, StepsTable::low));
    drawing += rect("range", low, scale.percent(ms_of(step, StepsTable::high)) - low, 4, 14);
  }
  drawing += mark("step", median, 2, 18, 3);
  return off == nullptr ? drawing
                        : drawing + mark("off", scale.percent(ms_of(*off, StepsTable::median)), 0, kRowHeight, 2);
}

std::string step_text(const FigureRow& step, int digits) {
  const std::string value = fmt::format("{:.{}f} ms", ms_of(step, StepsTable::median), digits);
  if (!step.figures[StepsTable::low]) return value;
  return value + fmt::format(" [{:.{}f}, {:.{}f}]", ms_of(step, StepsTable::low), digits, ms_of(step, StepsTable::high),
                             digits);
}

// The cell of a group that the others are compared with; empty if there is no such cell.
std::string off_cell_of(const std::vector<CellSummary>& summaries, const Group& group) {
  for (const std::size_t cell : group)
    if (summaries[cell].name == summaries[cell].off_cell) return summaries[cell].name;
  return "";
}

std::string step_rows(const RunResults& results, const FigureTable& steps, const Group& group,
                      const std::string& off_cell) {
  double largest = 0;
  for (const std::size_t cell : group)
    if (const FigureRow* step = first_row(steps, {results.cells[cell].name}))
      largest = std::max({largest, ms_of(*step, StepsTable::median), ms_of(*step, StepsTable::high)});
  const Scale scale(largest);
  std::string text = axis_row("step, ms", scale);
  for (const std::size_t cell : group) {
    const FigureRow* step = first_row(steps, {results.cells[cell].name});
    const std::string label = label_of(results, group, cell);
    text += step != nullptr ? picture_row(label, step_drawing(*step, first_row(steps, {off_cell}), scale),
                                          step_text(*step, digits_for(largest)))
                            : picture_row(label, "", "no step was measured");
  }
  return text;
}

std::string mode_rows(const RunResults& results, const FigureTable& modes, const Group& group,
                      const std::string& mode) {
  FigureTable of_group;
  std::string rows;
  for (const std::size_t cell : group)
    if (const FigureRow* row = first_row(modes, {results.cells[cell].name, mode})) of_group.rows.push_back(*row);
  const Scale scale(longest_mode_bar(of_group));
  for (const std::size_t cell : group)
    if (const FigureRow* row = first_row(modes, {results.cells[cell].name, mode}))
      rows += mode_bar_row(label_of(results, group, cell), *row, scale);
  return axis_row(mode + " communication, ms", scale) + rows;
}

std::string group_picture(const RunResults& results, const std::vector<CellSummary>& summaries,
                          const PictureFigures& figures, const Group& group) {
  std::set<std::string> names, modes;
  for (const std::size_t cell : group) names.insert(results.cells[cell].name);
  for (const FigureRow& row : figures.modes.rows)
    if (names.contains(row.names[ModesTable::cell])) modes.insert(row.names[ModesTable::mode]);
  std::string rows = step_rows(results, figures.steps, group, off_cell_of(summaries, group));
  for (const std::string& mode : modes) rows += mode_rows(results, figures.modes, group, mode);
  const std::string title = title_of(results, group);
  return (title.empty() ? "" : page::heading(3, title)) + page::picture(rows);
}

}  // namespace

std::string pictures(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::string text = "<h2>Steps and hidden communication</h2>\n<p class=\"soft\">";
  text += key(rect("range", 0, 100, 1, 12) + rect("step", 0, 50, 4, 6) + mark("step", 50, 0, 14, 3),
              "step and its interval");
  text += key(mark("off", 50, 0, 14, 2), "step with overlap off");
  const PictureFigures figures{steps_figures(results, summaries), modes_figures(summaries)};
  text += mode_bar_keys(figures.modes);
  text += "</p>\n";
  text += "<p class=\"soft\">Communication is per step, mean over the ranks.</p>\n";
  for (const Group& group : groups_of(summaries)) text += group_picture(results, summaries, figures, group);
  return text;
}

}  // namespace underlap::report
