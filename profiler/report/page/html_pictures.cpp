// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/page/html_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platform/text/escape.hpp"
#include "profiler/report/page/html.hpp"

namespace underlap::report {
namespace {

// A cell with overlap off and what is held against it, as indices in the order of the matrix.
using Group = std::vector<std::size_t>;

// Cells that have no off cell stand with those whose transfers they lack, else alone.
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

double highest(const Estimate& estimate) {
  return std::max(estimate.value, estimate.interval ? estimate.interval->high : 0.0);
}

int digits_for(double largest_ms) { return largest_ms >= 1000 ? 0 : largest_ms >= 100 ? 1 : largest_ms >= 10 ? 2 : 3; }

std::string step_drawing(const Estimate& step, const std::optional<Estimate>& off, const Scale& scale) {
  std::string drawing = grid(scale) + rect("step", 0, scale.percent(step.value), 8, 6);
  if (step.interval) {
    const double low = scale.percent(step.interval->low);
    drawing += rect("range", low, scale.percent(step.interval->high) - low, 4, 14);
  }
  drawing += mark("step", scale.percent(step.value), 2, 18, 3);
  return off ? drawing + mark("off", scale.percent(off->value), 0, kRowHeight, 2) : drawing;
}

std::string step_text(const Estimate& step, int digits) {
  const std::string value = fmt::format("{:.{}f} ms", step.value, digits);
  if (!step.interval) return value;
  return value + fmt::format(" [{:.{}f}, {:.{}f}]", step.interval->low, digits, step.interval->high, digits);
}

std::string step_rows(const RunResults& results, const std::vector<CellSummary>& summaries, const Group& group) {
  double largest = 0;
  std::optional<Estimate> off;
  for (const std::size_t cell : group) {
    if (summaries[cell].step_ms) largest = std::max(largest, highest(*summaries[cell].step_ms));
    if (summaries[cell].name == summaries[cell].off_cell) off = summaries[cell].step_ms;
  }
  const Scale scale(largest);
  std::string text = axis_row("step, ms", scale);
  for (const std::size_t cell : group) {
    const auto& step = summaries[cell].step_ms;
    const std::string label = label_of(results, group, cell);
    text += step ? picture_row(label, step_drawing(*step, off, scale), step_text(*step, digits_for(largest)))
                 : picture_row(label, "", "no step was measured");
  }
  return text;
}

std::string communication_drawing(const PurposeSummary& figures, const Scale& scale) {
  const double hidden = scale.percent(std::max(0.0, figures.comm_ms - figures.exposed_ms));
  const double exposed = scale.percent(figures.exposed_ms);
  return grid(scale) + rect("hidden", 0, hidden, 3, 16) + rect("exposed", hidden, exposed, 3, 16) +
         rect("stripes", hidden, exposed, 3, 16);
}

std::string mode_rows(const RunResults& results, const std::vector<CellSummary>& summaries, const Group& group,
                      const std::string& mode) {
  double largest = 0;
  for (const std::size_t cell : group)
    if (const auto found = summaries[cell].modes.find(mode); found != summaries[cell].modes.end())
      largest = std::max(largest, found->second.comm_ms);
  if (largest == 0) return "";  // a group of one rank exchanges nothing
  const Scale scale(largest);
  std::string text = axis_row(mode + " communication, ms", scale);
  for (const std::size_t cell : group) {
    const auto found = summaries[cell].modes.find(mode);
    if (found == summaries[cell].modes.end()) continue;
    const PurposeSummary& figures = found->second;
    const int digits = digits_for(largest);
    text +=
        picture_row(label_of(results, group, cell), communication_drawing(figures, scale),
                    fmt::format("{:.{}f} hidden, {:.{}f} exposed", std::max(0.0, figures.comm_ms - figures.exposed_ms),
                                digits, figures.exposed_ms, digits));
  }
  return text;
}

std::string picture(const RunResults& results, const std::vector<CellSummary>& summaries, const Group& group) {
  std::set<std::string> modes;
  for (const std::size_t cell : group)
    for (const auto& [mode, figures] : summaries[cell].modes) modes.insert(mode);
  std::string rows = step_rows(results, summaries, group);
  for (const std::string& mode : modes) rows += mode_rows(results, summaries, group, mode);
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
  std::string text = "<h2>Steps, and what of their communication is hidden</h2>\n<p class=\"soft\">";
  text += key(rect("range", 0, 100, 1, 12) + rect("step", 0, 50, 4, 6) + mark("step", 50, 0, 14, 3),
              "step and its interval");
  text += key(mark("off", 50, 0, 14, 2), "step with overlap off");
  text += key(rect("hidden", 0, 100, 1, 12), "hidden under compute");
  text += key(rect("exposed", 0, 100, 1, 12) + rect("stripes", 0, 100, 1, 12), "exposed") + "</p>\n";
  text += "<p class=\"soft\">Communication is per step, mean over the ranks.</p>\n";
  for (const Group& group : groups_of(summaries)) text += picture(results, summaries, group);
  return text;
}

}  // namespace underlap::report
