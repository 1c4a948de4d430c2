// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <QCategoryAxis>
#include <QValueAxis>

#include "viewer/charts/drawing/figure.hpp"
#include "viewer/charts/drawing/painting.hpp"

// What became of a step over more ranks: the step, and each mode's exposed communication below it on the same axis of
// ranks. A color for each cell; what is modelled is dashed and hollow.
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
  ChartFigures of =
      headed("Step time and exposed communication by number of ranks", how_made(report), runs_text(report));
  of.table = empty_table();
  for (const report::ScaledCell& cell : report.cells)
    for (const report::ScaledPoint& scaled : cell.points) add_point(of.table, cell.name, scaled);
  if (has_ideal(of.table))
    of.note = "Ideal: the same sequences per second and rank as at the smallest size of its kind.";
  if (!report.forced.empty())
    of.note += fmt::format("{}Not comparable, forced: {}.", of.note.empty() ? "" : " ", report.forced);
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
  Range range;  ///< in ms

  // If small values could not be distinguished on a linear axis.
  bool is_log() const { return range.low > 0 && range.high > 20 * range.low; }
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

  const FigureTable& table;
  std::vector<std::string> cells;
  std::set<double> ranks;
  std::vector<Plot> plots;
};

Plotted::Plotted(const FigureTable& of) : table(of) {
  for (const FigureRow& row : table.rows) {
    if (!row.figures[kLength]) continue;
    ranks.insert(*row.figures[kRanks]);
    auto plot = std::ranges::find(plots, row.names[kWhat], &Plot::what);
    if (plot == plots.end()) plot = plots.insert(plots.end(), Plot{.what = row.names[kWhat], .lines = {}, .range = {}});
    const std::size_t number = place_of(cells, row.names[kCell]);
    const bool is_modelled = row.names[kTimes] == kModelled;
    const auto is_its = [&](const Line& line) { return line.cell == number && line.is_modelled == is_modelled; };
    auto line = std::ranges::find_if(plot->lines, is_its);
    if (line == plot->lines.end()) line = plot->lines.insert(plot->lines.end(), Line{number, is_modelled, {}});
    line->points.push_back(&row);
    for (const Column column : {kLength, kHigh, kLow, kIdeal})
      if (const auto value = row.figures[column]) plot->range.take(*value / 1e6);
  }
  double longest = 0;
  for (const Plot& plot : plots) longest = std::max(longest, plot.range.high);
  std::erase_if(plots,
                [&](const Plot& plot) { return plot.what != kStep && plot.range.high < kLeastExposed * longest; });
}

QPointF point_of(const FigureRow& row, Column column) {
  return {std::log2(*row.figures[kRanks]), *row.figures[column] / 1e6};
}

QList<QPointF> points_of(const Line& line, Column column) {
  QList<QPointF> points;
  for (const FigureRow* row : line.points)
    if (row->figures[column]) points.append(point_of(*row, column));
  return points;
}

void add_line_of(QChart& chart, const Line& line, const Theme& theme) {
  const QColor color = theme.series(line.cell);
  add_line(chart, points_of(line, kLength),
           QPen(color, line.is_modelled ? 1.4 : 2, line.is_modelled ? Qt::DashLine : Qt::SolidLine));
  for (const FigureRow* row : line.points)
    if (row->figures[kLow] && row->figures[kHigh])
      add_line(chart, {point_of(*row, kLow), point_of(*row, kHigh)}, QPen(color, 1.2));
  add_marks(chart, points_of(line, kLength),
            {.shape = point_shape(line.cell / Theme::kSeriesColors).shape,
             .size = line.is_modelled ? 7.0 : 8.5,
             .inner = line.is_modelled ? theme.background : color,
             .border = color});
}

// Ranks by their logarithm, with a label at each number of them that there is; Qt leaves out labels without room.
void add_ranks_axis(const Figure& figure, QChart& chart, const std::set<double>& ranks, bool has_labels) {
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  const double low = std::log2(*ranks.begin()), high = std::log2(*ranks.rbegin());
  const double room = high > low ? 0.02 * (high - low) : 0.5;
  axis->setRange(low - room, high + room);
  for (const double one : ranks) axis->append(QString::number(one, 'f', 0), std::log2(one));
  axis->setLabelsVisible(has_labels);
  if (has_labels) axis->setTitleText("ranks");
  figure.add_axis(chart, Qt::AlignBottom, axis);
}

void add_times_axis(const Figure& figure, QChart& chart, const Plot& plot) {
  if (plot.is_log())
    return figure.add_log_axis(chart, Qt::AlignLeft, {plot.range.low / 1.2, 1.2 * plot.range.high}, "");
  auto* axis = new QValueAxis;
  axis->setRange(0, plot.range.high > 0 ? plot.range.high : 1);
  axis->setTickCount(plot.what == kStep ? 5 : 4);
  axis->applyNiceNumbers();
  axis->setLabelFormat("%g");
  figure.add_axis(chart, Qt::AlignLeft, axis);
}

constexpr double kStepShare = 2;  ///< how much higher the step's plot is than another

// Returns it with its title.
std::pair<const QChart*, QString> add_plot_of(Figure& figure, const Plotted& all, const Plot& plot) {
  const Theme& theme = figure.theme();
  QChart& chart = figure.add_plot(&plot == &all.plots.front() ? kStepShare : 1);
  for (const Line& line : plot.lines)
    add_line(chart, points_of(line, kIdeal), QPen(mixed(theme.series(line.cell), theme.background, 0.6), 0.8));
  for (const Line& line : plot.lines) add_line_of(chart, line, theme);
  add_ranks_axis(figure, chart, all.ranks, &plot == &all.plots.back());
  add_times_axis(figure, chart, plot);
  return {&chart, QString::fromStdString(plot.what + (plot.is_log() ? ", ms, logarithmic" : ", ms"))};
}

std::vector<LegendEntry> legend_of(const Plotted& all, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  std::vector<LegendEntry> legend;
  for (std::size_t cell = 0; cell < all.cells.size(); ++cell)
    legend.push_back(
        {point_shape(cell / Theme::kSeriesColors).mark, theme.series(cell), QString::fromStdString(all.cells[cell])});
  if (all.has(false)) legend.push_back({Mark::line, theme.dim_text, "measured"});
  if (all.has(true)) legend.push_back({Mark::dashed, theme.dim_text, "simulated"});
  if (has_ideal(all.table)) legend.push_back({Mark::thin, theme.dim_text, "ideal"});
  return legend;
}

QChart* draw_scaling(const ChartFigures& of, const Theme& theme) {
  const Plotted all(of.table);
  auto figure = std::make_unique<Figure>(of, theme, legend_of(all, theme));
  constexpr double kLeastPlot = 80;
  const double plots = std::max(1.0, static_cast<double>(all.plots.size()));
  figure->set_plot([](double) { return QMarginsF(72, 26, 24, 44); },
                   kLeastPlot * (kStepShare + plots - 1) + Figure::kPlotGap * (plots - 1));
  std::vector<std::pair<const QChart*, QString>> titled;
  for (const Plot& plot : all.plots) titled.push_back(add_plot_of(*figure, all, plot));
  figure->paint_over([titled, &theme](QPainter& painter, const QRectF& area) {
    if (titled.empty()) draw_text(painter, area, Qt::AlignCenter, "no measured steps", theme.dim_text, kTitlePixels);
    for (const auto& [chart, title] : titled)
      draw_text(painter, {area.left() - 58, chart->plotArea().top() - 25, area.width(), 16},
                Qt::AlignLeft | Qt::AlignVCenter, title, theme.text);
  });
  return figure.release();
}

}  // namespace

ChartKind scaling_chart() {
  return {.name = "scaling",
          .title = "Scaling over ranks",
          .needs = {ChartSource::scaling},
          .figures = figures,
          .draw = draw_scaling};
}

}  // namespace underlap::viewer
