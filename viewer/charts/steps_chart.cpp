// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <QPainter>
#include <QPolygonF>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "viewer/charts/drawing/painting.hpp"
#include "viewer/charts/drawing/row_plot.hpp"
#include "viewer/charts/drawing/tick_labels.hpp"
#include "viewer/charts/words.hpp"

// Every measured step in its order, cell by cell or rank by rank, around its median: whether a run drifted, which steps
// stalled, and how wide the interval of the median is.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;

enum Name : std::size_t { kOf, kBlock, kStep };
enum Column : std::size_t { kLength, kMedian, kLow, kHigh };

constexpr double kShownShare = 0.98;       ///< of the steps; the rest lie beyond the edges of their rows
constexpr double kLeastDeviation = 0.002;  ///< steps of virtual time do not differ at all

FigureTable empty_table(const std::string& of) {
  return {{{of, of}, {"block", "block"}, {"step", "step"}},
          {{"length", "length"}, {"median", "median"}, {"low", "median_low"}, {"high", "median_high"}},
          {}};
}

void add_cell(FigureTable& table, const report::CellResult& cell, const report::CellSummary& summary) {
  if (!summary.step_ms) return;
  const auto& interval = summary.step_ms->interval;
  const auto ns = [](double ms) { return std::optional(1e6 * ms); };
  for (const report::StepSample& sample : cell.samples)
    table.rows.push_back({{cell.name, std::to_string(sample.block), std::to_string(sample.step)},
                          {static_cast<double>(sample.step_ns), ns(summary.step_ms->value),
                           interval ? ns(interval->low) : std::nullopt, interval ? ns(interval->high) : std::nullopt}});
}

// Stalled steps, too.
void add_rank(FigureTable& table, const analysis::RankSummary& rank, std::span<const analysis::Window> windows) {
  const double median = analysis::typical(rank, [](const analysis::Split& split) { return split.window_ns; });
  for (const analysis::Window& window : windows)
    if (window.rank == rank.rank)
      table.rows.push_back(
          {{fmt::format("rank {}", rank.rank), std::to_string(window.block), std::to_string(window.step)},
           {static_cast<double>(window.length_ns()), median, std::nullopt, std::nullopt}});
}

ChartFigures figures_of_run(const ChartInput& input) {
  ChartFigures of = headed("Steps over time", how_made(input.run->info), run_text(input));
  of.table = empty_table("cell");
  for (std::size_t i = 0; i < input.run->cells.size(); ++i)
    add_cell(of.table, input.run->cells[i], input.summaries->at(i));
  return of;
}

ChartFigures figures_of_trace(const ChartInput& input) {
  ChartFigures of = headed("Steps over time, by rank", how_made(*input.trace), trace_text(input));
  of.table = empty_table("rank");
  if (!input.summary->shows_steps()) return of;
  const std::vector<analysis::Window> windows = input.summary->all_windows();
  for (const analysis::RankSummary& rank : input.summary->shown()) add_rank(of.table, rank, windows);
  return of;
}

ChartFigures figures(const ChartInput& input) {
  return input.run != nullptr ? figures_of_run(input) : figures_of_trace(input);
}

// The steps of one row of the plot.
struct Series {
  std::string name;
  std::vector<const FigureRow*> steps;

  double median() const { return std::max(1.0, steps.front()->figures[kMedian].value_or(1)); }
  double deviation(double ns) const { return ns / median() - 1; }
};

std::vector<Series> series_of(const FigureTable& table) {
  std::vector<Series> series;
  std::map<std::string, std::size_t> at;
  for (const FigureRow& row : table.rows) {
    const auto [found, is_new] = at.emplace(row.names[kOf], series.size());
    if (is_new) series.push_back({row.names[kOf], {}});
    series[found->second].steps.push_back(&row);
  }
  return series;
}

// How far from its median a row reaches, the same for all of them: what is restless looks so.
double reach_of(const std::vector<Series>& series) {
  std::vector<double> deviations{0};
  double widest = kLeastDeviation;
  for (const Series& one : series) {
    for (const FigureRow* step : one.steps) deviations.push_back(std::abs(one.deviation(*step->figures[kLength])));
    for (const Column limit : {kLow, kHigh})
      if (const auto ns = one.steps.front()->figures[limit]) widest = std::max(widest, std::abs(one.deviation(*ns)));
  }
  std::ranges::sort(deviations);
  const auto last = static_cast<std::size_t>(kShownShare * static_cast<double>(deviations.size() - 1));
  return 1.1 * std::max(widest, deviations[last]);
}

/// All that is drawn. Its series point into its table.
struct Plotted {
  explicit Plotted(const FigureTable& of) : table(of) {}
  Plotted(const Plotted&) = delete;

  const FigureTable table;
  const std::vector<Series> series = series_of(table);
  const double reach = reach_of(series);
};

double y_of(const RowCanvas& canvas, double deviation, double reach) {
  const double half = canvas.row.height() / 2 - 2;
  return canvas.row.center().y() - half * std::clamp(deviation / reach, -1.0, 1.0);
}

void paint_median(QPainter& painter, const RowCanvas& canvas, const Series& one, double reach) {
  const FigureRow& first = *one.steps.front();
  if (first.figures[kLow] && first.figures[kHigh]) {
    const double top = y_of(canvas, one.deviation(*first.figures[kHigh]), reach);
    const double bottom = y_of(canvas, one.deviation(*first.figures[kLow]), reach);
    painter.fillRect(QRectF(canvas.row.left(), top, canvas.row.width(), std::max(1.0, bottom - top)),
                     mixed(canvas.theme.accent, canvas.theme.background, 0.2));
  }
  const double middle = canvas.row.center().y();
  draw_line(painter, {canvas.row.left(), middle}, {canvas.row.right(), middle}, canvas.theme.accent, 1.2);
}

// What lies beyond the row's edge is an arrow at it.
void paint_step(QPainter& painter, const QPointF& at, double deviation, double reach, double radius,
                const Theme& theme) {
  painter.setPen(Qt::NoPen);
  if (std::abs(deviation) <= reach) {
    painter.setBrush(theme.text);
    painter.drawEllipse(at, radius, radius);
    return;
  }
  const double down = deviation > 0 ? 6 : -6;
  painter.setBrush(theme.worse);
  painter.drawPolygon(QPolygonF({at, {at.x() - 4, at.y() + down}, {at.x() + 4, at.y() + down}}));
}

void paint_steps(QPainter& painter, const RowCanvas& canvas, const Series& one, double reach) {
  const double radius = std::clamp(canvas.plot.width() / (4 * (canvas.high - canvas.low)), 0.8, 2.4);
  const QColor link = mixed(canvas.theme.dim_text, canvas.theme.background, 0.6);
  QPointF before;
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    const FigureRow& step = *one.steps[i];
    const double deviation = one.deviation(*step.figures[kLength]);
    const QPointF at(canvas.x(static_cast<double>(i + 1)), y_of(canvas, deviation, reach));
    const bool is_same_block = i > 0 && one.steps[i - 1]->names[kBlock] == step.names[kBlock];
    if (is_same_block) draw_line(painter, before, at, link, 0.8);
    if (i > 0 && !is_same_block) {
      const double between = (at.x() + before.x()) / 2;
      draw_line(painter, {between, canvas.row.top()}, {between, canvas.row.bottom()}, link, 1);
    }
    paint_step(painter, at, deviation, reach, radius, canvas.theme);
    before = at;
  }
}

// Where there is room for it, how far the row reaches; below the steps, of which it must hide none.
void paint_reach(QPainter& painter, const RowCanvas& canvas, double reach) {
  if (canvas.row.height() < 60) return;
  const QString percent = QString::number(100 * reach, 'f', reach < 0.1 ? 1 : 0) + " %";
  const QRectF inner = canvas.row.adjusted(4, 2, -4, -2);
  draw_text(painter, inner, Qt::AlignRight | Qt::AlignTop, "+" + percent, canvas.theme.dim_text, kSmallPixels);
  draw_text(painter, inner, Qt::AlignRight | Qt::AlignBottom, "-" + percent, canvas.theme.dim_text, kSmallPixels);
}

QString interval_text(const FigureRow& row) {
  if (!row.figures[kLow] || !row.figures[kHigh]) return "-";
  return QString("[%1, %2]").arg(number_text(*row.figures[kLow] / 1e6), number_text(*row.figures[kHigh] / 1e6));
}

std::vector<PlotRow> rows_of(const std::vector<Series>& series, bool has_intervals) {
  std::vector<PlotRow> rows;
  for (const Series& one : series) {
    PlotRow& row = rows.emplace_back();
    row.label = QString::fromStdString(one.name);
    row.says = {number_text(one.median() / 1e6)};
    if (has_intervals) row.says.push_back(interval_text(*one.steps.front()));
    row.begins_group = true;
  }
  return rows;
}

std::string note_of(double reach) {
  return fmt::format(
      "A row reaches from {0:.{1}f} % below to {0:.{1}f} % above its median, the same in all rows; up is longer, and "
      "an arrow marks a step beyond. Upright lines part blocks.",
      100 * reach, reach < 0.1 ? 1 : 0);
}

QChart* draw_steps(const ChartFigures& of, const Theme& theme) {
  const auto plotted = std::make_shared<const Plotted>(of.table);
  std::size_t most = 1;
  bool has_intervals = false;
  for (const Series& one : plotted->series) {
    most = std::max(most, one.steps.size());
    has_intervals |= one.steps.front()->figures[kLow].has_value();
  }
  RowPlot plot{.rows = rows_of(plotted->series, has_intervals),
               .says_titles = {"median ms"},
               .low = 0.5,
               .high = static_cast<double>(most) + 0.5,
               .axis_title = "measured step, from 1",
               .least_tick = 1,
               .has_grid = false,
               .least_row_height = 24,
               .when_empty = "no steps"};
  using Mark = LegendEntry::Mark;
  std::vector<LegendEntry> legend{{Mark::dot, theme.text, {}, "a step"}, {Mark::line, theme.accent, {}, "median"}};
  if (has_intervals) {
    plot.says_titles.emplace_back("95 % interval");
    legend.push_back({Mark::box, mixed(theme.accent, theme.background, 0.2), {}, "interval of the median"});
  }
  plot.paint_row = [plotted](QPainter& painter, const RowCanvas& canvas, std::size_t row) {
    paint_median(painter, canvas, plotted->series[row], plotted->reach);
    paint_reach(painter, canvas, plotted->reach);
    paint_steps(painter, canvas, plotted->series[row], plotted->reach);
  };
  ChartFigures with_note = of;
  if (!plotted->series.empty()) with_note.note = note_of(plotted->reach);
  return draw_rows(with_note, theme, std::move(legend), std::move(plot));
}

}  // namespace

ChartKind steps_chart() {
  return {.name = "steps",
          .title = "Steps over time",
          .description = "every measured step around its median, with the median's interval",
          .needs = {ChartSource::run, ChartSource::trace},
          .figures = figures,
          .draw = draw_steps};
}

}  // namespace underlap::viewer
