// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "profiler/gate/reports.hpp"
#include "viewer/charts/drawing/painting.hpp"
#include "viewer/charts/drawing/row_plot.hpp"

// The result of a gate: each metric's change with its confidence limits, and the largest change that passes.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;
using gate::GateReport;
using gate::GateRow;

enum Name : std::size_t { kCell, kMetric, kVerdict, kWords };
enum Column : std::size_t { kBaseline, kCandidate, kChange, kLower, kUpper, kTolerance };

// Shares become percent: of "efficiency", which is a difference of shares, hundredths.
FigureTable empty_table() {
  return {{{"cell", "cell"}, {"metric", "metric"}, {"verdict", "verdict"}, {"words", "words"}},
          {{"baseline", "baseline", FigureUnit::number},
           {"candidate", "candidate", FigureUnit::number},
           {"change", "change", FigureUnit::percent},
           {"lower", "lower", FigureUnit::percent},
           {"upper", "upper", FigureUnit::percent},
           {"tolerance", "tolerance", FigureUnit::percent}},
          {}};
}

std::optional<double> percent(const std::optional<double>& share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

// "+5.2 % [+3.1, +7.3]", of numerics from what to what.
std::string words_of(const GateRow& row) {
  if (!row.words.empty()) return row.words;
  const std::string limits = gate::limits_text(row);
  return gate::change_text(row) + (limits.empty() ? "" : " " + limits);
}

FigureRow row_of(const GateRow& row) {
  FigureRow figures{{row.cell, row.metric, std::string(to_string(row.verdict)), words_of(row)}, {}};
  if (row.metric == "numerics")
    figures.figures.resize(6);
  else
    figures.figures = {row.baseline,       row.candidate,      100 * row.change,
                       percent(row.lower), percent(row.upper), 100 * row.tolerance};
  return figures;
}

ChartFigures figures(const ChartInput& input) {
  const GateReport& report = *input.gate;
  // Only runs in virtual time have exact gates.
  const std::string how =
      input.how_made.empty() && report.is_exact ? "simulated: no time was measured" : input.how_made;
  ChartFigures of = headed(fmt::format("Gate: {}", to_string(report.verdict)), how, gate::method_text(report));
  if (!input.name.empty()) of.subtitle += ", " + input.name;
  if (!report.forced.empty()) of.note = fmt::format("Not comparable, forced: {}. ", report.forced);
  of.note +=
      gate::verdict_sentence(report) +
      ". Right is worse. Times in % of the baseline's step, bytes in % of the baseline, efficiency in hundredths.";
  of.table = empty_table();
  for (const GateRow& row : report.rows) of.table.rows.push_back(row_of(row));
  return of;
}

QColor color_of(const std::string& verdict, const Theme& theme) {
  return verdict == "regression" ? theme.worse : verdict == "pass" ? theme.better : theme.dim_text;
}

QColor beyond_color(const Theme& theme) { return mixed(theme.worse, theme.background, theme.is_dark ? 0.16 : 0.1); }

// Wide enough for the changes and the tolerance. Limits far beyond are cut; otherwise they would compress the rest.
Range range_of(const FigureTable& table) {
  Range needed{0, 0}, limits{0, 0};
  for (const FigureRow& row : table.rows) {
    const double change = row.figures[kChange].value_or(0);
    needed.low = std::min(needed.low, change);
    needed.high = std::max({needed.high, change, row.figures[kTolerance].value_or(0)});
    if (const auto lower = row.figures[kLower]) limits.low = std::min(limits.low, *lower);
    if (const auto upper = row.figures[kUpper]) limits.high = std::max(limits.high, *upper);
  }
  const double most = 2.5 * std::max(needed.high, -needed.low);
  const Range range{std::min(needed.low, std::max(limits.low, -most)),
                    std::max(needed.high, std::min(limits.high, most))};
  const double room = 0.06 * (range.high - range.low);
  return room > 0 ? Range{range.low - room, range.high + room} : Range{-1, 1};
}

// Shapes in addition to colors: a triangle is a regression, a ring is inconclusive.
void add_marks_of(QChart& chart, const std::vector<FigureRow>& rows, std::size_t shown, const char* verdict,
                  const Theme& theme) {
  QList<QPointF> points;
  for (std::size_t i = 0; i < shown; ++i)
    if (rows[i].names[kVerdict] == verdict && rows[i].figures[kChange])
      points.append({*rows[i].figures[kChange], static_cast<double>(i)});
  const QColor color = color_of(verdict, theme);
  const bool is_regression = color == theme.worse, is_decided = color != theme.dim_text;
  add_marks(chart, points,
            {.shape = is_regression ? QScatterSeries::MarkerShapeTriangle : QScatterSeries::MarkerShapeCircle,
             .size = is_regression ? 11.0 : 9.0,
             .inner = is_decided ? color : theme.background,
             .border = color});
}

void paint_limits(QPainter& painter, const RowCanvas& canvas, const FigureRow& row) {
  if (!row.figures[kLower] && !row.figures[kUpper]) return;
  const double low = row.figures[kLower].value_or(canvas.low), high = row.figures[kUpper].value_or(canvas.high);
  const double y = canvas.row.center().y();
  const QColor color = color_of(row.names[kVerdict], canvas.theme);
  draw_line(painter, {canvas.x(low), y}, {canvas.x(high), y}, color, 1.8);
  // A limit beyond the edge has no cap, because the interval continues there.
  for (const double limit : {low, high})
    if (limit > canvas.low && limit < canvas.high)
      draw_line(painter, {canvas.x(limit), y - 4}, {canvas.x(limit), y + 4}, color, 1.8);
}

void paint_row(QPainter& painter, const RowCanvas& canvas, const FigureRow& row) {
  if (!row.figures[kChange]) return;
  const double tolerance = canvas.x(*row.figures[kTolerance]);
  const double zero = canvas.x(0);
  painter.fillRect(QRectF(tolerance, canvas.row.top(), canvas.plot.right() - tolerance, canvas.row.height()),
                   beyond_color(canvas.theme));
  draw_line(painter, {zero, canvas.row.top()}, {zero, canvas.row.bottom()}, canvas.theme.dim_text, 1);
  draw_line(painter, {tolerance, canvas.row.top()}, {tolerance, canvas.row.bottom()}, canvas.theme.worse, 1);
  paint_limits(painter, canvas, row);
}

std::vector<PlotRow> rows_of(const FigureTable& table) {
  std::vector<PlotRow> rows;
  std::string before;
  for (const FigureRow& row : table.rows) {
    const bool is_same = row.names[kCell] == before;
    rows.push_back({.label = is_same ? "" : QString::fromStdString(row.names[kCell]),
                    .sublabel = QString::fromStdString(row.names[kMetric]),
                    .says = {QString::fromStdString(row.names[kWords]), QString::fromStdString(row.names[kVerdict])},
                    .begins_group = !is_same && !rows.empty()});
    before = row.names[kCell];
  }
  return rows;
}

QChart* draw_gate(const ChartFigures& of, const Theme& theme) {
  const auto [low, high] = range_of(of.table);
  RowPlot plot{.rows = rows_of(of.table),
               .says_titles = {"change [limits]", "verdict"},
               .low = low,
               .high = high,
               .axis_title = "worse by, %",
               .what = "metric",
               .when_empty = "no metrics compared"};
  plot.add_series = [rows = of.table.rows, &theme](QChart& chart, std::size_t shown) {
    for (const char* verdict : {"pass", "inconclusive", "regression"}) add_marks_of(chart, rows, shown, verdict, theme);
  };
  plot.paint_under = [rows = of.table.rows](QPainter& painter, const RowCanvas& canvas, std::size_t row) {
    paint_row(painter, canvas, rows[row]);
  };
  using Mark = LegendEntry::Mark;
  return draw_rows(of, theme,
                   {{Mark::triangle, theme.worse, "regression"},
                    {Mark::ring, theme.dim_text, "inconclusive"},
                    {Mark::dot, theme.better, "pass"},
                    {Mark::interval, theme.dim_text, "limits"},
                    {Mark::box, beyond_color(theme), "beyond tolerance"}},
                   std::move(plot));
}

}  // namespace

ChartKind gate_chart() {
  return {
      .name = "gate", .title = "Gate verdicts", .needs = {ChartSource::gate}, .figures = figures, .draw = draw_gate};
}

}  // namespace underlap::viewer
