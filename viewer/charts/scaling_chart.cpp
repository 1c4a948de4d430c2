// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <QPainter>
#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/report/scaling/scaling.hpp"
#include "viewer/charts/drawing/figure.hpp"
#include "viewer/charts/drawing/painting.hpp"
#include "viewer/charts/drawing/tick_labels.hpp"
#include "viewer/charts/words.hpp"

// What became of a step over more ranks: the step, and each mode's exposed communication below it on the same axis of
// ranks. A colour for each cell; what is modelled is dashed and hollow.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;

enum Name : std::size_t { kCell, kTimes, kWhat, kRun };
enum Column : std::size_t { kRanks, kLength, kLow, kHigh, kIdeal };

constexpr const char* kStep = "step";
constexpr const char* kModelled = "modelled";
constexpr double kLeastExposed = 1e-4;  ///< of the longest step, below which a mode has no plot of its own

FigureTable empty_table() {
  return {{{"cell", "cell"}, {"times", "times_are"}, {"what", "what"}, {"run", "run"}},
          {{"ranks", "ranks", FigureUnit::number},
           {"length", "length"},
           {"low", "low"},
           {"high", "high"},
           {"ideal", "ideal"}},
          {}};
}

std::optional<double> ns(std::optional<double> ms) { return ms ? std::optional(1e6 * *ms) : std::nullopt; }

// The step that as many sequences a second and rank as at the smallest size would give.
std::optional<double> ideal_ms(const report::ScaledPoint& scaled, double step_ms) {
  if (scaled.efficiency) return step_ms * *scaled.efficiency;
  const bool is_smallest = !scaled.step_to_smallest && scaled.point.sequences;
  return is_smallest ? std::optional(step_ms) : std::nullopt;
}

bool has_ideal(const FigureTable& table) {
  return std::ranges::any_of(table.rows, [](const FigureRow& row) { return row.figures[kIdeal].has_value(); });
}

void add_point(FigureTable& table, const std::string& cell, const report::ScaledPoint& scaled) {
  const report::ScalingPoint& point = scaled.point;
  const auto add = [&](const std::string& what, std::vector<std::optional<double>> figures) {
    figures.insert(figures.begin(), static_cast<double>(point.num_ranks));
    table.rows.push_back({{cell, point.is_modelled ? kModelled : "measured", what, point.run}, std::move(figures)});
  };
  if (const auto& step = point.summary.step_ms) {
    const auto limit = [&](double report::Interval::*end) {
      return step->interval ? std::optional(1e6 * *step->interval.*end) : std::nullopt;
    };
    add(kStep, {ns(step->value), limit(&report::Interval::low), limit(&report::Interval::high),
                ns(ideal_ms(scaled, step->value))});
  }
  for (const auto& [mode, communication] : point.summary.modes)
    add("exposed " + mode, {ns(communication.exposed_ms), std::nullopt, std::nullopt, std::nullopt});
}

std::string runs_text(const report::ScalingReport& report) {
  std::set<std::string> runs;
  for (const report::ScaledCell& cell : report.cells)
    for (const report::ScaledPoint& scaled : cell.points) runs.insert(scaled.point.run);
  return fmt::format("{} run{}", runs.size(), runs.size() == 1 ? "" : "s");
}

ChartFigures figures(const ChartInput& input) {
  const report::ScalingReport& report = *input.scaling;
  ChartFigures of = headed("Step and exposed communication over ranks", how_made(report), runs_text(report));
  of.table = empty_table();
  for (const report::ScaledCell& cell : report.cells)
    for (const report::ScaledPoint& scaled : cell.points) add_point(of.table, cell.name, scaled);
  if (has_ideal(of.table)) of.note = "Ideal: as many sequences a second and rank as at the smallest size of its kind.";
  if (!report.forced.empty())
    of.note += fmt::format("{}Not comparable, and forced: {}.", of.note.empty() ? "" : " ", report.forced);
  return of;
}

/// One line of a plot: a cell, measured or modelled, by rising ranks.
struct Line {
  std::size_t cell = 0;  ///< which of those that there are
  bool is_modelled = false;
  std::vector<const FigureRow*> points;
};

struct Plot {
  std::string what;
  std::vector<Line> lines;
  double low = 0;
  double high = 0;
  bool is_log = false;

  double share(double value) const {
    return is_log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

/// All that is drawn. Its plots point into its table.
struct Plotted {
  explicit Plotted(const FigureTable&);
  Plotted(const Plotted&) = delete;

  bool has(bool is_modelled) const {
    return std::ranges::any_of(plots, [&](const Plot& plot) {
      return std::ranges::any_of(plot.lines, [&](const Line& line) { return line.is_modelled == is_modelled; });
    });
  }

  const FigureTable table;
  std::vector<std::string> cells;
  std::set<double> ranks;
  std::vector<Plot> plots;
};

void widen(Plot& plot) {
  double least = HUGE_VAL;
  for (const Line& line : plot.lines)
    for (const FigureRow* row : line.points)
      for (const Column column : {kLength, kHigh, kLow, kIdeal})
        if (const auto value = row->figures[column]) {
          plot.high = std::max(plot.high, *value);
          least = std::min(least, *value);
        }
  constexpr double kMostOfALine = 20;  // times the least: beyond it small steps could not be told
  plot.is_log = least > 0 && plot.high > kMostOfALine * least;
  if (plot.is_log) plot.low = least / 1.2;
  plot.high = plot.high > 0 ? plot.high * (plot.is_log ? 1.2 : 1.05) : 1;
}

Plotted::Plotted(const FigureTable& of) : table(of) {
  double longest = 0;
  for (const FigureRow& row : table.rows) longest = std::max(longest, row.figures[kLength].value_or(0));
  for (const FigureRow& row : table.rows) {
    if (!row.figures[kLength]) continue;
    auto cell = std::ranges::find(cells, row.names[kCell]);
    if (cell == cells.end()) cell = cells.insert(cells.end(), row.names[kCell]);
    ranks.insert(*row.figures[kRanks]);
    auto plot = std::ranges::find(plots, row.names[kWhat], &Plot::what);
    if (plot == plots.end()) plot = plots.insert(plots.end(), Plot{.what = row.names[kWhat], .lines = {}});
    const auto number = static_cast<std::size_t>(cell - cells.begin());
    const bool is_modelled = row.names[kTimes] == kModelled;
    const auto is_its = [&](const Line& line) { return line.cell == number && line.is_modelled == is_modelled; };
    auto line = std::ranges::find_if(plot->lines, is_its);
    if (line == plot->lines.end()) line = plot->lines.insert(plot->lines.end(), Line{number, is_modelled, {}});
    line->points.push_back(&row);
  }
  for (Plot& plot : plots) widen(plot);
  std::erase_if(plots, [&](const Plot& plot) { return plot.what != kStep && plot.high < kLeastExposed * longest; });
}

constexpr std::array kMarks{LegendEntry::Mark::dot, LegendEntry::Mark::square, LegendEntry::Mark::diamond,
                            LegendEntry::Mark::triangle};

QPolygonF shape_of(LegendEntry::Mark mark) {
  switch (mark) {
    case LegendEntry::Mark::square: return QPolygonF({{-3.5, -3.5}, {3.5, -3.5}, {3.5, 3.5}, {-3.5, 3.5}});
    case LegendEntry::Mark::diamond: return QPolygonF({{0, -5}, {-5, 0}, {0, 5}, {5, 0}});
    default: return QPolygonF({{0, -5}, {-5, 4}, {5, 4}});
  }
}

/// One plot in its place.
struct Canvas {
  const Plotted& all;
  const Plot& plot;
  const Theme& theme;
  QRectF area;

  double x(double ranks) const {
    const double low = std::log2(*all.ranks.begin()), high = std::log2(*all.ranks.rbegin());
    constexpr double kInset = 14;  // marks do not stand on the edges
    const double share = high > low ? (std::log2(ranks) - low) / (high - low) : 0.5;
    return area.left() + kInset + share * (area.width() - 2 * kInset);
  }
  double y(double value) const { return area.bottom() - std::clamp(plot.share(value), 0.0, 1.0) * area.height(); }
  QPointF at(const FigureRow& row, Column column) const { return {x(*row.figures[kRanks]), y(*row.figures[column])}; }
};

std::vector<Tick> ticks_of(const Plot& plot, double height) {
  const double low = plot.low / 1e6, high = plot.high / 1e6;
  if (plot.is_log) return number_ticks(low, high);
  std::vector<Tick> ticks;
  const double distance = tick_distance(low, high, std::max(1, static_cast<int>(height / 28)));
  for (double value = 0; value <= high; value += distance) ticks.push_back({value, QString::number(value, 'g', 6)});
  return ticks;
}

void paint_frame(QPainter& painter, const Canvas& canvas) {
  const auto& [all, plot, theme, area] = canvas;
  double free_below = area.bottom() + 8;
  for (const Tick& tick : ticks_of(plot, area.height())) {
    const double y = canvas.y(1e6 * tick.value);
    if (y > free_below) continue;
    draw_line(painter, {area.left(), y}, {area.right(), y}, mixed(theme.grid, theme.background, 0.8), 0.8);
    draw_text(painter, {area.left() - 66, y - 8, 60, 16}, Qt::AlignRight | Qt::AlignVCenter, tick.text, theme.dim_text,
              kSmallPixels);
    free_below = y - 15;
  }
  draw_line(painter, area.bottomLeft(), area.bottomRight(), theme.dim_text);
  draw_text(painter, {area.left() - 58, area.top() - 22, area.width(), 16}, Qt::AlignLeft | Qt::AlignVCenter,
            QString::fromStdString(plot.what + (plot.is_log ? ", ms, logarithmic" : ", ms")), theme.text, kTextPixels);
}

// Sizes whose labels have room; the largest always has.
void paint_ranks(QPainter& painter, const Canvas& canvas) {
  const auto& [all, plot, theme, area] = canvas;
  double free_from = area.right() + 40;
  for (auto ranks = all.ranks.rbegin(); ranks != all.ranks.rend(); ++ranks) {
    const double x = canvas.x(*ranks);
    const QString text = QString::number(*ranks, 'f', 0);
    const double half = text_width(text, kSmallPixels) / 2;
    draw_line(painter, {x, area.bottom()}, {x, area.bottom() + 4}, theme.dim_text);
    if (x + half > free_from) continue;
    draw_text(painter, {x - half - 4, area.bottom() + 5, 2 * half + 8, 16}, Qt::AlignCenter, text, theme.dim_text,
              kSmallPixels);
    free_from = x - half - 8;
  }
  draw_text(painter, {area.left(), area.bottom() + 22, area.width(), 16}, Qt::AlignCenter, "ranks", theme.dim_text,
            kSmallPixels);
}

void paint_path(QPainter& painter, const Canvas& canvas, const Line& line, Column column, const QPen& pen) {
  QPolygonF path;
  for (const FigureRow* row : line.points)
    if (row->figures[column]) path << canvas.at(*row, column);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(path);
}

void paint_mark(QPainter& painter, const QPointF& at, LegendEntry::Mark mark, const QColor& border,
                const QColor& inner) {
  painter.setPen(QPen(border, 1.5));
  painter.setBrush(inner);
  if (mark == LegendEntry::Mark::dot)
    painter.drawEllipse(at, 3.5, 3.5);
  else
    painter.drawPolygon(shape_of(mark).translated(at));
}

void paint_line(QPainter& painter, const Canvas& canvas, const Line& line) {
  const QColor colour = canvas.theme.series(line.cell);
  const LegendEntry::Mark mark = kMarks.at(line.cell / Theme::kSeriesColors % kMarks.size());
  paint_path(painter, canvas, line, kLength,
             QPen(colour, line.is_modelled ? 1.4 : 2, line.is_modelled ? Qt::DashLine : Qt::SolidLine));
  for (const FigureRow* row : line.points) {
    if (row->figures[kLow] && row->figures[kHigh])
      draw_line(painter, canvas.at(*row, kLow), canvas.at(*row, kHigh), colour, 1.2);
    paint_mark(painter, canvas.at(*row, kLength), mark, colour, line.is_modelled ? canvas.theme.background : colour);
  }
}

void paint_plot(QPainter& painter, const Canvas& canvas) {
  paint_frame(painter, canvas);
  for (const Line& line : canvas.plot.lines)
    paint_path(painter, canvas, line, kIdeal,
               QPen(mixed(canvas.theme.series(line.cell), canvas.theme.background, 0.6), 0.8));
  for (const Line& line : canvas.plot.lines) paint_line(painter, canvas, line);
}

constexpr double kGap = 40;       ///< between plots, for a title
constexpr double kStepShare = 2;  ///< how much higher the step's plot is than another

void paint(QPainter& painter, const QRectF& area, const Plotted& all, const Theme& theme) {
  if (all.plots.empty())
    return draw_text(painter, area, Qt::AlignCenter, "no measured steps", theme.dim_text, kTitlePixels);
  const double shares = kStepShare + static_cast<double>(all.plots.size()) - 1;
  const double unit = std::max(1.0, (area.height() - kGap * static_cast<double>(all.plots.size() - 1)) / shares);
  double top = area.top();
  for (const Plot& plot : all.plots) {
    const double height = unit * (&plot == &all.plots.front() ? kStepShare : 1);
    const Canvas canvas{all, plot, theme, QRectF(area.left(), top, area.width(), height)};
    paint_plot(painter, canvas);
    if (&plot == &all.plots.back()) paint_ranks(painter, canvas);
    top += height + kGap;
  }
}

std::vector<LegendEntry> legend_of(const Plotted& all, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  std::vector<LegendEntry> legend;
  for (std::size_t cell = 0; cell < all.cells.size(); ++cell)
    legend.push_back({kMarks.at(cell / Theme::kSeriesColors % kMarks.size()),
                      theme.series(cell),
                      {},
                      QString::fromStdString(all.cells[cell])});
  if (all.has(false)) legend.push_back({Mark::line, theme.dim_text, {}, "measured"});
  if (all.has(true)) legend.push_back({Mark::dashed, theme.dim_text, {}, kModelled});
  if (has_ideal(all.table)) legend.push_back({Mark::thin, theme.dim_text, {}, "ideal"});
  return legend;
}

QChart* draw_scaling(const ChartFigures& of, const Theme& theme) {
  const auto all = std::make_shared<const Plotted>(of.table);
  auto figure = std::make_unique<Figure>(of, theme, legend_of(*all, theme));
  constexpr double kLeastPlot = 80;
  const double plots = std::max(1.0, static_cast<double>(all->plots.size()));
  figure->set_plot([](double) { return QMarginsF(72, 26, 24, 44); },
                   kLeastPlot * (kStepShare + plots - 1) + kGap * (plots - 1));
  figure->paint_over([all, &theme](QPainter& painter, const QRectF& area) { paint(painter, area, *all, theme); });
  return figure.release();
}

}  // namespace

ChartKind scaling_chart() {
  return {.name = "scaling",
          .title = "Scaling over ranks",
          .description = "step and exposed time by mode over the number of ranks, measured beside modelled and ideal",
          .needs = {ChartSource::scaling},
          .figures = figures,
          .draw = draw_scaling};
}

}  // namespace underlap::viewer
