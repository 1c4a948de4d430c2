// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "platform/text/escape.hpp"
#include "profiler/report/charts/chart_tables.hpp"
#include "profiler/report/page/html.hpp"

namespace underlap::report {
namespace {

using analysis::FigureRow, analysis::FigureTable;

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

// Milliseconds from 0 to the end of a picture, and the distance of the lines of its grid.
struct Scale {
  double end = 1;
  double tick = 1;

  explicit Scale(double largest) {
    if (!(largest > 0) || !std::isfinite(largest)) return;
    end = largest * 1.02;
    tick = std::pow(10, std::floor(std::log10(end)));
    while (end / tick < 3) tick /= 2;
    if (end / tick > 7) tick *= 2;
  }
  double percent(double ms) const { return std::clamp(100 * ms / end, 0.0, 100.0); }
};

std::string rect(const char* kind, double left_percent, double width_percent, int top, int height) {
  return fmt::format("<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" y=\"{}\" height=\"{}\"/>", kind, left_percent,
                     width_percent, top, height);
}

// A line that keeps its width however wide the picture is.
std::string mark(const char* kind, double at_percent, int top, int height, int width) {
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.3f}%\" width=\"{}\" y=\"{}\" height=\"{}\" "
      "transform=\"translate(-{} 0)\"/>",
      kind, at_percent, width, top, height, width / 2);
}

constexpr int kRowHeight = 22;

std::string grid(const Scale& scale) {
  std::string text;
  for (int i = 0; i * scale.tick <= scale.end; ++i)
    text += mark("grid", scale.percent(i * scale.tick), 0, kRowHeight, 1);
  return text;
}

std::string axis_row(const std::string& title, const Scale& scale) {
  std::string ticks;
  for (int i = 0; i * scale.tick <= scale.end; ++i)
    ticks += fmt::format("<text x=\"{:.3f}%\" y=\"14\" text-anchor=\"{}\">{:g}</text>", scale.percent(i * scale.tick),
                         i == 0 ? "start" : "middle", i * scale.tick);
  return fmt::format(
      "<tr class=\"axis\"><th scope=\"col\">{}</th><td class=\"plot\"><svg height=\"18\" "
      "aria-hidden=\"true\">{}</svg></td><td class=\"says\"></td></tr>\n",
      markup_text(title), ticks);
}

// One line of a picture: what it is of, the drawing, and the same in words.
std::string picture_row(const std::string& label, const std::string& drawing, const std::string& says) {
  return fmt::format(
      "<tr><th scope=\"row\">{0}</th><td class=\"plot\"><svg height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}</svg></td><td class=\"says\">{2}</td></tr>\n",
      markup_text(label), kRowHeight, markup_text(says), drawing);
}

int digits_for(double largest_ms) { return largest_ms >= 1000 ? 0 : largest_ms >= 100 ? 1 : largest_ms >= 10 ? 2 : 3; }

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

std::string communication_drawing(const ModeBar& bar, const Scale& scale) {
  const auto part = [&](const char* kind, double from, double to) {
    return from < to ? rect(kind, scale.percent(from), scale.percent(to) - scale.percent(from), 3, 16) : "";
  };
  return grid(scale) + rect("hidden", 0, scale.percent(bar.hidden), 3, 16) + part("exposed", bar.hidden, bar.exposed) +
         part("stripes", bar.hidden, bar.waited) + part("dots", bar.transferred, bar.exposed);
}

std::string mode_rows(const RunResults& results, const FigureTable& modes, const Group& group,
                      const std::string& mode) {
  double largest = 0;
  for (const std::size_t cell : group)
    if (const FigureRow* row = first_row(modes, {results.cells[cell].name, mode}))
      largest = std::max(largest, mode_bar(*row).exposed);
  const Scale scale(largest);
  std::string text = axis_row(mode + " communication, ms", scale);
  for (const std::size_t cell : group) {
    const FigureRow* row = first_row(modes, {results.cells[cell].name, mode});
    if (row == nullptr) continue;
    const int digits = digits_for(largest);
    text += picture_row(label_of(results, group, cell), communication_drawing(mode_bar(*row), scale),
                        fmt::format("{:.{}f} hidden, {:.{}f} exposed", ms_of(*row, ModesTable::hidden), digits,
                                    ms_of(*row, ModesTable::exposed), digits));
  }
  return text;
}

std::string picture(const RunResults& results, const std::vector<CellSummary>& summaries, const PictureFigures& figures,
                    const Group& group) {
  std::set<std::string> names, modes;
  for (const std::size_t cell : group) names.insert(results.cells[cell].name);
  for (const FigureRow& row : figures.modes.rows)
    if (names.contains(row.names[ModesTable::cell])) modes.insert(row.names[ModesTable::mode]);
  std::string rows = step_rows(results, figures.steps, group, off_cell_of(summaries, group));
  for (const std::string& mode : modes) rows += mode_rows(results, figures.modes, group, mode);
  const std::string title = title_of(results, group);
  return fmt::format("{}<table class=\"picture\">\n{}</table>\n",
                     title.empty() ? "" : fmt::format("<h3>{}</h3>\n", markup_text(title)), rows);
}

std::string key(const std::string& drawing, const char* what) {
  return fmt::format("<span class=\"entry\"><svg class=\"key\" height=\"14\" aria-hidden=\"true\">{}</svg>{}</span>\n",
                     drawing, what);
}

}  // namespace

std::string pictures(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::string text = "<h2>Steps and hidden communication</h2>\n<p class=\"soft\">";
  text += key(rect("range", 0, 100, 1, 12) + rect("step", 0, 50, 4, 6) + mark("step", 50, 0, 14, 3),
              "step and its interval");
  text += key(mark("off", 50, 0, 14, 2), "step with overlap off");
  text += key(rect("hidden", 0, 100, 1, 12), "hidden under compute");
  const PictureFigures figures{steps_figures(results, summaries), modes_figures(summaries)};
  const std::string exposed = rect("exposed", 0, 100, 1, 12);
  const auto has = [&](ModesTable::Column column) {
    return std::ranges::any_of(figures.modes.rows, [&](const FigureRow& row) { return ms_of(row, column) > 0; });
  };
  if (has(ModesTable::wait)) text += key(exposed + rect("stripes", 0, 100, 1, 12), "exposed, waiting");
  if (has(ModesTable::transfer)) text += key(exposed, "exposed, transferring");
  if (has(ModesTable::unsplit)) text += key(exposed + rect("dots", 0, 100, 1, 12), "exposed, last arrival unknown");
  text += "</p>\n";
  text += "<p class=\"soft\">Communication is per step, mean over the ranks.</p>\n";
  for (const Group& group : groups_of(summaries)) text += picture(results, summaries, figures, group);
  return text;
}

}  // namespace underlap::report
