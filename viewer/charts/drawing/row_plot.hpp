// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>
#include <QString>

#include "viewer/charts/drawing/figure.hpp"

namespace underlap::viewer {

/// A row of a plot: its label left of it, and its figures as text right of it.
struct PlotRow {
  QString label;
  QString sublabel = {};  ///< in a narrow column of its own
  std::vector<QString> says = {};
  bool begins_group = false;  ///< a line sets it off from the row above
};

/// Where a row is drawn.
struct RowCanvas {
  const Theme& theme;
  QRectF plot;
  QRectF row;
  double low = 0;
  double high = 1;

  /// The place of a value of the axis, at most the plot's edges.
  double x(double value) const;
  /// The middle of the row, as thick as a bar is.
  QRectF bar(double from, double to) const;
};

/// From one value of the axis to another, in either order; empty if both are the same.
struct Span {
  double from = 0;
  double to = 0;
};

/// Bars of one look, one in each row. Those that some row has are in the legend, each text once.
struct RowBars {
  LegendEntry key;  ///< a box, hatched or dotted
  std::vector<Span> spans;
};

/// Rows one below another over one axis of values.
struct RowPlot {
  using PaintRow = std::function<void(QPainter&, const RowCanvas&, std::size_t row)>;

  std::vector<PlotRow> rows;
  std::vector<QString> says_titles = {};
  double low = 0;
  double high = 1;
  QString axis_title = {};
  double least_tick = 0;  ///< distance of the axis' ticks
  bool has_grid = true;
  double least_row_height = 17;
  QString what = "row";            ///< for the line that counts the rows that do not fit
  QString when_empty = "none";     ///< shown in the plot if there are no rows
  std::vector<RowBars> bars = {};  ///< in each row from the inside out, none over another
  /// Adds series below the bars of the first rows; row i has its middle at i, the next one's is below it at i + 1.
  std::function<void(QChart&, std::size_t rows)> add_series = {};
  /// What Qt has no series for, below and above them.
  PaintRow paint_under = {};
  PaintRow paint_over = {};
};

/// The chart of `plot`, which the caller owns. Rows that do not fit are left out from the end, and counted above.
/// `legend` comes before the parts of the bars.
QChart* draw_rows(const ChartFigures&, const Theme&, std::vector<LegendEntry> legend, RowPlot plot);

}  // namespace underlap::viewer
