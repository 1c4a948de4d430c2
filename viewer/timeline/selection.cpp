// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/selection.hpp"

#include <cmath>

#include "profiler/analysis/exposure.hpp"

namespace underlap::viewer {
namespace {

using analysis::CommunicationSplit;
using analysis::FigureColumn;
using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;
using analysis::Window;

void copy_slice(const Trace& trace, std::uint32_t slice, Trace& part) {
  if (const CommunicationRecord* record = trace.communication(slice))
    part.add(trace.slice(slice), *record);
  else
    part.add(trace.slice(slice));
}

using BusyNames = std::map<std::pair<Kind, NameId>, SelectedName>;

void count(const Timeline& timeline, std::uint32_t slice, const Selection& selection, BusyNames& names) {
  if (timeline.begin_ns(slice) >= selection.end_ns) return;
  const Kind kind = timeline.trace().tag(slice).kind;
  const NameId name = timeline.trace().name(slice);
  SelectedName& busy = names[{kind, name}];
  busy.name = name;
  busy.kind = kind;
  ++busy.count;
  busy.busy_ns +=
      std::min(timeline.end_ns(slice), selection.end_ns) - std::max(timeline.begin_ns(slice), selection.begin_ns);
}

double num_ranks(const Selection& selection) {
  return std::max<double>(1, static_cast<double>(selection.ranks.size()));
}

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

Selection select(const Timeline& timeline, std::int64_t begin_ns, std::int64_t end_ns,
                 std::optional<std::int32_t> rank) {
  Selection selection{.begin_ns = begin_ns, .end_ns = end_ns, .ranks = {}, .names = {}};
  const Trace& trace = timeline.trace();
  Trace part;  // the work that touches the selection
  part.tracks = trace.tracks;
  part.groups = trace.groups;
  BusyNames names;
  for (const Lane& lane : timeline.lanes()) {
    if (lane.kind != LaneKind::stream || lane.rank != rank.value_or(lane.rank)) continue;
    for (const LaneRow& row : lane.rows) {
      // One without length at the very end counts as the analysis counts it.
      const auto [from, to] = timeline.slices_within(row, begin_ns, end_ns + 1);
      for (std::size_t i = from; i < to; ++i) {
        if (!trace.is_work(row.slices[i])) continue;
        copy_slice(trace, row.slices[i], part);
        count(timeline, row.slices[i], selection, names);
      }
    }
  }
  std::vector<Window> windows;
  for (const std::int32_t of : timeline.ranks())
    if (of == rank.value_or(of))
      windows.push_back({of, -1, -1, timeline.trace_ns_of(of, begin_ns), timeline.trace_ns_of(of, end_ns)});
  const std::vector<analysis::Split> splits = analysis::split_windows(part, windows);
  for (std::size_t i = 0; i < windows.size(); ++i) selection.ranks.push_back({windows[i].rank, splits[i]});
  for (const auto& [key, busy] : names) selection.names.push_back(busy);
  std::ranges::stable_sort(selection.names, std::ranges::greater(), &SelectedName::busy_ns);
  return selection;
}

FigureTable parts_of(const Selection& selection) {
  FigureTable table{{{"part", "part"}},
                    {{"time ms", "time"},
                     {"hidden ms", "hidden"},
                     {"exposed ms", "exposed"},
                     {"wait ms", "exposed_wait"},
                     {"transfer ms", "exposed_transfer"},
                     {"overlap %", "overlap_pct", FigureUnit::percent}},
                    {}};
  analysis::Split all;
  for (const SelectedRank& rank : selection.ranks) all += rank.split;
  const auto mean = [ranks = num_ranks(selection)](std::int64_t ns) {
    return std::optional(static_cast<double>(ns) / ranks);
  };
  const auto add = [&](const char* name, std::int64_t ns) {
    table.rows.push_back({{name}, {mean(ns), std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt}});
  };
  add("compute", all.compute_ns());
  add("copies alone", all.copy_only_ns);
  add("idle", all.idle_ns);
  const auto add_comm = [&](const std::string& name, const CommunicationSplit& split) {
    const bool is_split = split.exposed_unsplit_ns < split.exposed_ns || split.exposed_ns == 0;
    std::optional<double> overlap;
    if (split.comm_ns > 0) overlap = 100.0 * static_cast<double>(split.hidden_ns) / static_cast<double>(split.comm_ns);
    table.rows.push_back({{name},
                          {mean(split.comm_ns), mean(split.hidden_ns), mean(split.exposed_ns),
                           is_split ? mean(split.exposed_wait_ns) : std::nullopt,
                           is_split ? mean(split.exposed_transfer_ns) : std::nullopt, overlap}});
  };
  add_comm("communication", {.comm_ns = all.comm_ns(),
                             .exposed_ns = all.exposed_ns(),
                             .hidden_ns = all.hidden_ns,
                             .exposed_wait_ns = all.exposed_wait_ns,
                             .exposed_transfer_ns = all.exposed_transfer_ns(),
                             .exposed_unsplit_ns = all.exposed_unsplit_ns});
  for (const auto& [mode, split] : all.modes) add_comm("  " + mode, split);
  return table;
}

FigureTable names_of(const Selection& selection, std::size_t most) {
  FigureTable table{
      {{"name", "name"}, {"kind", "kind"}},
      {{"count", "count", FigureUnit::number}, {"time ms", "time"}, {"each us", "each", FigureUnit::short_time}},
      {}};
  const double ranks = num_ranks(selection);
  for (const SelectedName& name : selection.names) {
    if (table.rows.size() == most) break;
    const auto count = static_cast<double>(name.count);
    const auto busy = static_cast<double>(name.busy_ns);
    table.rows.push_back({{std::string(name_of(name.name)), std::string(to_string(name.kind))},
                          {count / ranks, busy / ranks, busy / count}});
  }
  return table;
}

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
