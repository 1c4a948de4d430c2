// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "profiler/report/answer.hpp"
#include "profiler/report/where_time_went.hpp"
#include "viewer/charts/drawing/painting.hpp"
#include "viewer/charts/drawing/row_plot.hpp"

// A waterfall chart of the change from one step to the other: the same compute kernels, other kernels, concurrent
// kernels, exposed communication by mode, copies and idle time.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;

enum Name : std::size_t { kPart, kKind, kMode };
enum Column : std::size_t { kBaseline, kCandidate, kChange };
constexpr const char* kStepKind = "step";

using ByMode = std::map<std::string, double>;

FigureTable empty_table() {
  return {{{"part", "part"}, {"kind", "kind"}, {"mode", "mode"}},
          {{"baseline", "baseline"}, {"candidate", "candidate"}, {"change", "change"}},
          {}};
}

void add(FigureTable& table, std::string part, const char* kind, double from, double to, std::string mode = "") {
  table.rows.push_back({{std::move(part), kind, std::move(mode)}, {from, to, to - from}});
}

// Of what compute became, only the change is known.
void add_change(FigureTable& table, const char* part, double change) {
  table.rows.push_back({{part, "compute", ""}, {std::nullopt, std::nullopt, change}});
}

double at(const ByMode& times, const std::string& mode) {
  const auto found = times.find(mode);
  return found == times.end() ? 0 : found->second;
}

void add_exposed(FigureTable& table, const ByMode& from, const ByMode& to) {
  ByMode both = from;
  both.insert(to.begin(), to.end());
  for (const auto& [mode, ns] : both) add(table, "exposed " + mode, "exposed", at(from, mode), at(to, mode), mode);
}

constexpr const char* kContention = "compute: contention";
constexpr const char* kDecomposition = "compute: decomposition";
constexpr const char* kConcurrency = "compute: concurrency";

struct Pair {
  const report::CellResult* from = nullptr;
  const report::CellResult* to = nullptr;
};

const report::CellResult& cell_named(const report::RunResults& run, const std::string& name) {
  const auto found = std::ranges::find(run.cells, name, &report::CellResult::name);
  if (found == run.cells.end())
    throw std::invalid_argument(
        fmt::format("chart change: the run has no cell \"{}\"; available: {}", name,
                    fmt::join(run.cells | std::views::transform(&report::CellResult::name), ", ")));
  return *found;
}

// The cell that was asked for and its off cell; else the pair whose step changed most.
Pair pair_of(const ChartInput& input) {
  const auto answers = report::answers_of(*input.run, *input.summaries);
  if (input.cell.empty()) {
    const auto most = report::foremost(answers, 1);
    if (most.empty())
      throw std::invalid_argument(
          fmt::format("chart change needs two cells, with overlap and without; {} has no such pair", input.name));
    return {&cell_named(*input.run, most.front().off_cell), &cell_named(*input.run, most.front().cell)};
  }
  const report::CellResult& to = cell_named(*input.run, input.cell);
  const auto found = std::ranges::find(answers, input.cell, &report::PairAnswer::cell);
  if (found == answers.end())
    throw std::invalid_argument(fmt::format("chart change: cell \"{}\" has no cell without overlap", input.cell));
  return {&cell_named(*input.run, found->off_cell), &to};
}

// The mean window's exposed time by the modes exposed at once, over the steps that where_time_went() counts.
ByMode exposed_of(const report::CellResult& cell, const report::CellResult& other, const report::Steps& stalled) {
  ByMode sums;
  double windows = 0;
  for (const report::StepSample& sample : cell.samples) {
    const bool is_common = std::ranges::any_of(other.samples, [&](const report::StepSample& its) {
      return its.block == sample.block && !its.ranks.empty() && !stalled.contains({its.block, its.step});
    });
    if (!is_common || stalled.contains({sample.block, sample.step})) continue;
    for (const analysis::Split& split : sample.ranks) {
      ++windows;
      for (const auto& [mode, ns] : split.exposed_ns_by_modes) sums[mode] += static_cast<double>(ns);
    }
  }
  for (auto& [mode, ns] : sums) ns /= windows;
  return sums;
}

FigureTable table_of(const Pair& pair, const report::TimeChange& change) {
  FigureTable table = empty_table();
  const auto ns = [](std::int64_t value) { return static_cast<double>(value); };
  if (change.compute) {
    add_change(table, kContention, ns(change.compute->contention_ns));
    add_change(table, kDecomposition, ns(change.compute->decomposition_ns));
    add_change(table, kConcurrency, -ns(change.compute->concurrency_ns));
  } else {
    add(table, "compute", "compute", ns(change.from.compute_ns), ns(change.to.compute_ns));
  }
  const report::Steps stalled = report::stalled_steps(*pair.from, *pair.to);
  add_exposed(table, exposed_of(*pair.from, *pair.to, stalled), exposed_of(*pair.to, *pair.from, stalled));
  add(table, "copies alone", "copy", ns(change.from.copy_only_ns), ns(change.to.copy_only_ns));
  add(table, "idle", "idle", ns(change.from.idle_ns), ns(change.to.idle_ns));
  add(table, kStepKind, kStepKind, ns(change.from.window_ns()), ns(change.to.window_ns()));
  return table;
}

ChartFigures figures_of_run(const ChartInput& input) {
  const Pair pair = pair_of(input);
  const auto change = report::where_time_went(*pair.from, *pair.to);
  if (!change)
    throw std::invalid_argument(
        fmt::format("chart change needs recorded cells; \"{}\" or \"{}\" of {} was run without run.trace",
                    pair.from->name, pair.to->name, input.name));
  ChartFigures of = headed("Why the step time changed", input);
  of.note = fmt::format("Baseline: {}. Candidate: {}. ", pair.from->name, pair.to->name);
  of.table = table_of(pair, *change);
  return of;
}

// Means of the windows that are compared.
FigureTable table_of(const compare::TraceChange& change) {
  FigureTable table = empty_table();
  const auto mean = [&](std::int64_t ns) { return static_cast<double>(ns) / static_cast<double>(change.windows); };
  const auto by_mode = [&](const analysis::Split& split) {
    ByMode times;
    for (const auto& [mode, ns] : split.exposed_ns_by_modes) times[mode] = mean(ns);
    return times;
  };
  const analysis::ComputeParts &from = change.compute.from, &to = change.compute.to;
  add(table, kContention, "compute", mean(from.same_kernels_ns), mean(to.same_kernels_ns));
  add(table, kDecomposition, "compute", mean(from.other_kernels_ns), mean(to.other_kernels_ns));
  add(table, kConcurrency, "compute", -mean(from.concurrency_ns), -mean(to.concurrency_ns));
  add_exposed(table, by_mode(change.from), by_mode(change.to));
  add(table, "copies alone", "copy", mean(change.from.copy_only_ns), mean(change.to.copy_only_ns));
  add(table, "idle", "idle", mean(change.from.idle_ns), mean(change.to.idle_ns));
  add(table, kStepKind, kStepKind, mean(change.from.window_ns), mean(change.to.window_ns));
  return table;
}

ChartFigures figures_of_comparison(const ChartInput& input) {
  const compare::Comparison& comparison = *input.comparison;
  if (!comparison.change)
    throw std::invalid_argument(
        fmt::format("chart change needs traces on both sides; {} has only step times: run both with run.trace",
                    input.name.empty() ? comparison.name : input.name));
  ChartFigures of = headed("Why the step time changed", input.how_made, input.name);
  if (!comparison.name.empty()) of.note = fmt::format("Cell {}. ", comparison.name);
  of.table = table_of(*comparison.change);
  return of;
}

ChartFigures figures(const ChartInput& input) {
  ChartFigures of = input.comparison != nullptr ? figures_of_comparison(input) : figures_of_run(input);
  of.note +=
      "Mean over steps and ranks. Contention: the same kernels take longer. Decomposition: other kernels. Concurrency: "
      "kernels that run at the same time, counted once.";
  return of;
}

// A row of the waterfall: a bar from where the row above ended.
struct Part {
  QString label;
  double from = 0;
  double to = 0;
  bool is_step = false;
};

std::vector<Part> parts_of(const FigureTable& table) {
  const FigureRow& step = table.rows.back();
  const auto ms = [](const FigureRow& row, Column column) { return row.figures[column].value_or(0) / 1e6; };
  double level = ms(step, kBaseline);
  std::vector<Part> parts{{"baseline step", 0, level, true}};
  for (const FigureRow& row : table.rows) {
    if (row.names[kKind] == kStepKind) continue;
    parts.push_back({QString::fromStdString(row.names[kPart]), level, level + ms(row, kChange), false});
    level = parts.back().to;
  }
  parts.push_back({"candidate step", 0, ms(step, kCandidate), true});
  return parts;
}

// From 0 where the changes can be seen so, else from just below all levels.
std::pair<double, double> range_of(const std::vector<Part>& parts) {
  double low = parts.front().to, high = low;
  for (const Part& part : parts) {
    low = std::min(low, part.to);
    high = std::max(high, part.to);
  }
  const double spread = high - low;
  if (spread <= 0) return {0, high > 0 ? 1.1 * high : 1};
  return {spread > 0.4 * high ? std::min(0.0, low) : std::max(0.0, low - 0.35 * spread), high + 0.08 * spread};
}

std::vector<RowBars> bars_of(const std::vector<Part>& parts, double low, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  RowBars step{{Mark::box, theme.compute, "step"}, {}};
  RowBars shorter{{Mark::box, theme.better, "shortens the step"}, {}};
  RowBars longer{{Mark::box, theme.worse, "lengthens the step"}, {}};
  for (const Part& part : parts) {
    step.spans.push_back(part.is_step ? Span{std::max(0.0, low), part.to} : Span{});
    shorter.spans.push_back(!part.is_step && part.to < part.from ? Span{part.from, part.to} : Span{});
    longer.spans.push_back(!part.is_step && part.to > part.from ? Span{part.from, part.to} : Span{});
  }
  return {step, shorter, longer};
}

// The line from part to part: each level continues down to the next row, where the bar covers it.
QList<QPointF> levels_of(const std::vector<Part>& parts, std::size_t rows) {
  QList<QPointF> levels;
  for (std::size_t i = 0; i + 1 < rows; ++i)
    for (const std::size_t row : {i, i + 1}) levels.append({parts[i].to, static_cast<double>(row)});
  return levels;
}

// An axis that does not begin at 0 cuts the steps' bars, which then open to the left.
void paint_cut(QPainter& painter, const RowCanvas& canvas) {
  const QRectF bar = canvas.bar(canvas.low, canvas.high);
  for (const double x : {bar.left() + 8, bar.left() + 13})
    draw_line(painter, {x - 3, bar.bottom() + 2}, {x + 3, bar.top() - 2}, canvas.theme.background, 2.5);
}

std::vector<PlotRow> rows_of(const std::vector<Part>& parts) {
  std::vector<PlotRow> rows;
  const double baseline = parts.front().to;
  for (const Part& part : parts) {
    const double change = part.to - (part.is_step ? baseline : part.from);
    const QString share = baseline > 0 ? signed_text(100 * change / baseline) + " %" : "-";
    const bool is_first = rows.empty();
    rows.push_back({.label = part.label,
                    .says = {part.is_step ? number_text(part.to) : signed_text(change), is_first ? "" : share}});
  }
  return rows;
}

QChart* draw_change(const ChartFigures& of, const Theme& theme) {
  std::vector<Part> parts = parts_of(of.table);
  const auto [low, high] = range_of(parts);
  RowPlot plot{.rows = rows_of(parts),
               .says_titles = {"ms", "of baseline"},
               .low = low,
               .high = high,
               .axis_title = low > 0 ? "ms per step; the axis does not start at 0" : "ms per step",
               .bars = bars_of(parts, low, theme)};
  plot.add_series = [parts, pen = QPen(theme.dim_text, 0.8)](QChart& chart, std::size_t rows) {
    add_line(chart, levels_of(parts, rows), pen);
  };
  plot.paint_over = [parts = std::move(parts)](QPainter& painter, const RowCanvas& canvas, std::size_t row) {
    if (parts[row].is_step && canvas.low > 0) paint_cut(painter, canvas);
  };
  return draw_rows(of, theme, {}, std::move(plot));
}

}  // namespace

ChartKind change_chart() {
  return {.name = "change",
          .title = "Step time change",
          .needs = {ChartSource::comparison, ChartSource::run},
          .figures = figures,
          .draw = draw_change};
}

}  // namespace underlap::viewer
