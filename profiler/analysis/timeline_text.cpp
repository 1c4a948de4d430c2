// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "platform/text/digits.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/steps/shown_step.hpp"

namespace underlap::analysis {
namespace {

constexpr std::int32_t kMinWidth = 40;
constexpr char kBrief =
    ':';  ///< work in less than half of a cell, none of it exposed: short kernels leave no row blank

// One row of the picture: what its stream does, apart by what it looks like.
struct Row {
  std::string label;
  IntervalSet exposed;
  IntervalSet hidden;
  IntervalSet compute;
  IntervalSet copy;
};

std::vector<Interval> cut_slices(const Trace& trace, const Window& window, auto&& wanted) {
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tracks[trace.track(i)].rank == window.rank && wanted(i))
      intervals.push_back({std::max(trace.start_ns()[i], window.begin_ns), std::min(trace.end_ns(i), window.end_ns)});
  return intervals;
}

Row row_of(const Trace& trace, std::uint32_t track, const Window& window, const IntervalSet& rank_compute) {
  const auto of_kind = [&](Kind kind) {
    return IntervalSet(
        cut_slices(trace, window, [&](std::size_t i) { return trace.track(i) == track && trace.tag(i).kind == kind; }));
  };
  const IntervalSet comm = of_kind(Kind::communication);
  return {.label = fmt::format("rank {} {}", window.rank, trace.tracks[track].name),
          .exposed = subtract(comm, rank_compute),
          .hidden = intersect(comm, rank_compute),
          .compute = of_kind(Kind::compute),
          .copy = of_kind(Kind::copy)};
}

// Tracks that ran anything in the window. A run declares all streams that it may use; an empty row has no information.
std::vector<bool> used_tracks(const Trace& trace, const Window& window) {
  std::vector<bool> used(trace.tracks.size(), false);
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.is_work(i) && trace.end_ns(i) > window.begin_ns && trace.start_ns()[i] < window.end_ns)
      used[trace.track(i)] = true;
  return used;
}

std::vector<Row> rows_of(const Trace& trace, const std::vector<Window>& windows) {
  std::vector<Row> rows;
  for (const Window& window : windows) {
    const std::vector<bool> used = used_tracks(trace, window);
    const IntervalSet compute(
        cut_slices(trace, window, [&](std::size_t i) { return trace.tag(i).kind == Kind::compute; }));
    std::vector<std::uint32_t> tracks;
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t)
      if (used[t] && trace.tracks[t].rank == window.rank) tracks.push_back(t);
    std::stable_sort(tracks.begin(), tracks.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return trace.tracks[a].stream < trace.tracks[b].stream; });
    for (const std::uint32_t track : tracks) rows.push_back(row_of(trace, track, window, compute));
  }
  return rows;
}

// Nanoseconds of a set in each cell of the axis; the set lies within the axis.
std::vector<std::int64_t> share_by_cell(const IntervalSet& set, const std::vector<std::int64_t>& edges) {
  std::vector<std::int64_t> shares(edges.size() - 1, 0);
  for (const Interval& i : set.intervals()) {
    auto cell = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), i.begin) - edges.begin()) - 1;
    for (; cell < shares.size() && edges[cell] < i.end; ++cell)
      shares[cell] += std::min(i.end, edges[cell + 1]) - std::max(i.begin, edges[cell]);
  }
  return shares;
}

std::string cells_of(const Row& row, const std::vector<std::int64_t>& edges) {
  const auto exposed = share_by_cell(row.exposed, edges);
  const auto hidden = share_by_cell(row.hidden, edges);
  const auto compute = share_by_cell(row.compute, edges);
  const auto copy = share_by_cell(row.copy, edges);
  const auto busy = share_by_cell(unite(unite(row.exposed, row.hidden), unite(row.compute, row.copy)), edges);
  std::string cells(exposed.size(), ' ');
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (exposed[c] > 0)
      cells[c] = '!';
    else if (2 * busy[c] >= edges[c + 1] - edges[c] && busy[c] > 0)
      cells[c] = hidden[c] > 0 ? '=' : compute[c] > 0 ? '#' : '.';
    else if (busy[c] > 0)
      cells[c] = kBrief;
  }
  return cells;
}

std::vector<std::int64_t> axis_edges(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t num_cells) {
  std::vector<std::int64_t> edges;
  const double per_cell = static_cast<double>(end_ns - begin_ns) / static_cast<double>(num_cells);
  for (std::int64_t c = 0; c < num_cells; ++c)
    edges.push_back(begin_ns + static_cast<std::int64_t>(per_cell * static_cast<double>(c)));
  edges.push_back(end_ns);
  return edges;
}

// Numbers at every quarter of the axis, each beginning under its tick.
std::string axis_line(std::int64_t length_ns, std::size_t indent, std::size_t num_cells) {
  std::string line(indent + num_cells, ' ');
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const std::string label = in_digits(static_cast<double>(length_ns) * static_cast<double>(quarter) / 4e6, 3);
    line.replace(indent + quarter * num_cells / 4, label.size(), label);
  }
  const std::string last = in_digits(static_cast<double>(length_ns) / 1e6, 4) + " ms";
  line.replace(line.size() - last.size(), last.size(), last);
  return line;
}

std::string exposure_lines(const Trace& trace, const std::vector<Window>& windows) {
  std::string lines;
  for (const Window& window : windows) {
    const Split split = split_window(trace, window);
    fmt::format_to(std::back_inserter(lines), "rank {}: step {:.3f} ms, communication {:.3f} ms, exposed {:.3f} ms\n",
                   window.rank, static_cast<double>(split.window_ns) / 1e6, static_cast<double>(split.comm_ns()) / 1e6,
                   static_cast<double>(split.exposed_ns()) / 1e6);
  }
  return lines;
}

}  // namespace

std::string text_timeline(const Trace& trace, const TimelineRequest& request) {
  if (request.width < kMinWidth)
    throw std::invalid_argument(fmt::format("width: {} is below the minimum of {}", request.width, kMinWidth));
  const std::vector<Window> windows = windows_of_step(trace, request.steps, request.block, request.step);
  std::int64_t begin_ns = windows.front().begin_ns;
  std::int64_t end_ns = windows.front().end_ns;
  for (const Window& w : windows) {
    begin_ns = std::min(begin_ns, w.begin_ns);
    end_ns = std::max(end_ns, w.end_ns);
  }
  const std::vector<Row> rows = rows_of(trace, windows);
  const auto width = static_cast<std::size_t>(request.width);
  std::size_t indent = 0;
  for (const Row& row : rows) indent = std::max(indent, row.label.size());
  indent = std::min(indent, width / 3);
  const std::size_t num_cells = width - indent - 3;  // " |" before the cells and "|" after them
  const auto edges = axis_edges(begin_ns, end_ns, static_cast<std::int64_t>(num_cells));
  std::string text = axis_line(end_ns - begin_ns, indent + 2, num_cells) + "\n";
  bool has_brief = false;
  for (const Row& row : rows) {
    const std::string cells = cells_of(row, edges);
    has_brief |= cells.find(kBrief) != std::string::npos;
    fmt::format_to(std::back_inserter(text), "{:<{}} |{}|\n", row.label.substr(0, indent), indent, cells);
  }
  text += "# compute   = hidden communication   ! exposed communication   . copy\n";
  if (has_brief) text += ": work in less than half of the column\n";
  return text + exposure_lines(trace, windows);
}

}  // namespace underlap::analysis
