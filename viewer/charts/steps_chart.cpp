// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <QPolygonF>

#include "profiler/report/charts/chart_tables.hpp"
#include "viewer/charts/drawing/painting.hpp"
#include "viewer/charts/drawing/row_plot.hpp"

// Every measured step in its order, cell by cell or rank by rank, around its median: whether a run drifted, which steps
// stalled, and how wide the interval of the median is.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;

using Of = report::StepsTable;

constexpr double kShownShare = 0.98;       ///< of the steps; the rest lie beyond the edges of their rows
constexpr double kLeastDeviation = 0.002;  ///< steps of virtual time do not differ at all

ChartFigures figures(const ChartInput& input) {
  const bool is_run = input.run != nullptr;
  ChartFigures of = headed(is_run ? "Steps over time" : "Steps over time, by rank", input);
  of.table = is_run ? report::steps_figures(*input.run, *input.summaries) : report::steps_figures(*input.summary);
  return of;
}

// The steps of one row of the plot.
struct Series {
  std::string name;
  std::vector<const FigureRow*> steps;

  double median() const { return std::max(1.0, steps.front()->figures[Of::median].value_or(1)); }
  double deviation(double ns) const { return ns / median() - 1; }
};

std::vector<Series> series_of(const FigureTable& table) {
  std::vector<Series> series;
  std::map<std::string, std::size_t> at;
  for (const FigureRow& row : table.rows) {
    const auto [found, is_new] = at.emplace(row.names[Of::of], series.size());
    if (is_new) series.push_back({row.names[Of::of], {}});
    series[found->second].steps.push_back(&row);
  }
  return series;
}

// How far from its median a row reaches, the same for all of them: what is restless looks so.
double reach_of(const std::vector<Series>& series) {
  std::vector<double> deviations{0};
  double widest = kLeastDeviation;
  for (const Series& one : series) {
    for (const FigureRow* step : one.steps) deviations.push_back(std::abs(one.deviation(*step->figures[Of::length])));
    for (const Of::Column limit : {Of::low, Of::high})
      if (const auto ns = one.steps.front()->figures[limit]) widest = std::max(widest, std::abs(one.deviation(*ns)));
  }
  std::ranges::sort(deviations);
  const auto last = static_cast<std::size_t>(kShownShare * static_cast<double>(deviations.size() - 1));
  return 1.1 * std::max(widest, deviations[last]);
}

// What is painted below it shows through.
QColor interval_color(const Theme& theme) {
  QColor color = theme.accent;
  color.setAlphaF(0.2F);
  return color;
}

/// All that is drawn. Its series point into its table.
struct Plotted {
  explicit Plotted(const FigureTable& of) : table(of) {}
  Plotted(const Plotted&) = delete;

  // The position of a step in its row: the median is in the middle, and longer steps are above it.
  double y(std::size_t row, double ns) const {
    constexpr double kHalf = 0.45;  // rows do not touch
    return static_cast<double>(row) - kHalf * std::clamp(series[row].deviation(ns) / reach, -1.0, 1.0);
  }
  std::size_t most_steps() const {
    std::size_t most = 1;
    for (const Series& one : series) most = std::max(most, one.steps.size());
    return most;
  }
  bool has_intervals() const {
    return std::ranges::any_of(series,
                               [](const Series& one) { return one.steps.front()->figures[Of::low].has_value(); });
  }

  const FigureTable table;
  const std::vector<Series> series = series_of(table);
  const double reach = reach_of(series);
};

void add_median(QChart& chart, const Plotted& all, std::size_t row, const Theme& theme) {
  const FigureRow& first = *all.series[row].steps.front();
  const double left = 0.5, right = static_cast<double>(all.most_steps()) + 0.5, middle = static_cast<double>(row);
  if (first.figures[Of::low] && first.figures[Of::high])
    add_band(chart, {left, all.y(row, *first.figures[Of::high])}, {right, all.y(row, *first.figures[Of::low])},
             interval_color(theme));
  add_line(chart, {{left, middle}, {right, middle}}, QPen(theme.accent, 1.2));
}

// A line through each block's steps, and an upright one between blocks. Qt's series have no gaps, and one for each
// block of a long run takes seconds.
void paint_blocks(QPainter& painter, const RowCanvas& canvas, const Plotted& all, std::size_t row) {
  const QColor link = mixed(canvas.theme.dim_text, canvas.theme.background, 0.6);
  const std::vector<const FigureRow*>& steps = all.series[row].steps;
  QPolygonF block;
  const auto paint_block = [&] {
    painter.setPen(QPen(link, 0.8));
    painter.drawPolyline(std::exchange(block, {}));
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && steps[i - 1]->names[Of::block] != steps[i]->names[Of::block]) {
      paint_block();
      const double between = canvas.x(static_cast<double>(i) + 0.5);
      draw_line(painter, {between, canvas.row.top()}, {between, canvas.row.bottom()}, link, 1);
    }
    const double below_middle = all.y(row, *steps[i]->figures[Of::length]) - static_cast<double>(row);
    block.append({canvas.x(static_cast<double>(i + 1)), canvas.row.center().y() + below_middle * canvas.row.height()});
  }
  paint_block();
}

// What lies beyond a row's edge is a triangle at it.
void add_steps(QChart& chart, const Plotted& all, std::size_t rows, const Theme& theme) {
  QList<QPointF> inside, beyond;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < all.series[row].steps.size(); ++i) {
      const double ns = *all.series[row].steps[i]->figures[Of::length];
      const bool is_beyond = std::abs(all.series[row].deviation(ns)) > all.reach;
      (is_beyond ? beyond : inside).append({static_cast<double>(i + 1), all.y(row, ns)});
    }
  const double size = std::clamp(300.0 / static_cast<double>(all.most_steps()), 1.6, 4.8);
  add_marks(chart, inside, {.size = size, .inner = theme.text, .border = theme.text});
  add_marks(chart, beyond,
            {.shape = QScatterSeries::MarkerShapeTriangle, .size = 9, .inner = theme.worse, .border = theme.worse});
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
  if (!row.figures[Of::low] || !row.figures[Of::high]) return "-";
  return QString("[%1, %2]").arg(number_text(*row.figures[Of::low] / 1e6), number_text(*row.figures[Of::high] / 1e6));
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
      "Each row spans {0:.{1}f} % below to {0:.{1}f} % above its median, the same in all rows; higher is longer, and a "
      "triangle marks a step outside. Vertical lines separate blocks.",
      100 * reach, reach < 0.1 ? 1 : 0);
}

QChart* draw_steps(const ChartFigures& of, const Theme& theme) {
  const auto all = std::make_shared<const Plotted>(of.table);
  RowPlot plot{.rows = rows_of(all->series, all->has_intervals()),
               .says_titles = {"median ms"},
               .low = 0.5,
               .high = static_cast<double>(all->most_steps()) + 0.5,
               .axis_title = "measured step, from 1",
               .least_tick = 1,
               .has_grid = false,
               .least_row_height = 24,
               .when_empty = "no steps"};
  using Mark = LegendEntry::Mark;
  std::vector<LegendEntry> legend{{Mark::dot, theme.text, "a step"}, {Mark::line, theme.accent, "median"}};
  if (all->has_intervals()) {
    plot.says_titles.emplace_back("95 % interval");
    legend.push_back({Mark::box, interval_color(theme), "interval of the median"});
  }
  plot.add_series = [all, &theme](QChart& chart, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row) add_median(chart, *all, row, theme);
    add_steps(chart, *all, rows, theme);
  };
  plot.paint_under = [all](QPainter& painter, const RowCanvas& canvas, std::size_t row) {
    paint_reach(painter, canvas, all->reach);
    paint_blocks(painter, canvas, *all, row);
  };
  ChartFigures with_note = of;
  if (!all->series.empty()) with_note.note = note_of(all->reach);
  return draw_rows(with_note, theme, std::move(legend), std::move(plot));
}

}  // namespace

ChartKind steps_chart() {
  return {.name = "steps",
          .title = "Steps over time",
          .needs = {ChartSource::run, ChartSource::trace},
          .figures = figures,
          .draw = draw_steps};
}

}  // namespace underlap::viewer
