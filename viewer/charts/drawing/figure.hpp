// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QChart>
#include <QColor>
#include <QList>
#include <QMarginsF>
#include <QPen>
#include <QPointF>
#include <QScatterSeries>
#include <QString>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "viewer/charts/chart.hpp"

class QPainter;
class QValueAxis;

namespace underlap::viewer {

/// A mark in a legend, and what it means.
struct LegendEntry {
  enum class Mark : std::uint8_t {
    box,
    hatched,
    dotted,
    line,
    thin,
    dashed,
    dot,
    square,
    diamond,
    triangle,
    ring,
    interval
  };
  Mark mark = Mark::box;
  QColor color;
  QString text;
  QColor stripe = {};  ///< of the pattern
};

struct Range {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// A chart with its title, where its figures come from, a legend that takes as many lines as it needs, and a note. Qt's
/// own cut what does not fit in one line.
class Figure : public QChart {
 public:
  Figure(const ChartFigures&, const Theme&, std::vector<LegendEntry> legend);

  /// The margins left of, above, right of and below the plot, for the chart's width. Heading and note are not included.
  using Margins = std::function<QMarginsF(double width)>;
  /// Draws over the plot and its margins.
  using Paint = std::function<void(QPainter&, const QRectF& plot)>;

  /// `least_height`: of the plot, at which nothing is left out.
  void set_plot(Margins, double least_height);
  void paint_over(Paint paint) { paint_over_ = std::move(paint); }
  /// The same, below the series.
  void paint_under(Paint paint) { paint_under_ = std::move(paint); }
  /// Called with the plot's new area.
  void when_resized(std::function<void(const QRectF& plot)> call) { when_resized_ = std::move(call); }
  const Theme& theme() const { return theme_; }

  /// An axis below the plot whose ticks are round numbers, as many as have room and none closer than `least_tick`. It
  /// is the chart's, and has no series yet.
  QValueAxis* add_value_axis(double low, double high, const QString& title, double least_tick = 0);
  /// A logarithmic axis of `chart`, which is this one or one of its plots, for all series that it has. `range` is above
  /// 0.
  void add_log_axis(QChart& chart, Qt::Alignment side, const Range& range, const QString& title) const;
  /// A plot of its own in this one's place, below those before it; `share` is its part of their height. It is the
  /// chart's.
  QChart& add_plot(double share);
  /// The height between plots, where a title has its place.
  static constexpr double kPlotGap = 40;
  /// Adds an axis to `chart`, for all series that it has, in the theme's colors. It is the chart's.
  void add_axis(QChart& chart, Qt::Alignment side, QAbstractAxis*) const;

 protected:
  void resizeEvent(QGraphicsSceneResizeEvent*) override;

 private:
  class Layer;

  void dress(QAbstractAxis&) const;
  void set_ticks(double width) const;
  double heading_height(double width) const;
  double note_height(double width) const;
  void place_plots(const QRectF& area);
  void paint_below(QPainter&) const;
  void paint_above(QPainter&) const;
  void paint_heading(QPainter&) const;
  void paint_note(QPainter&) const;

  const Theme& theme_;
  QString title_;
  QString subtitle_;
  QString note_;
  std::vector<LegendEntry> legend_;
  Margins margins_;
  double least_plot_height_ = 0;
  Paint paint_over_;
  Paint paint_under_;
  std::function<void(const QRectF&)> when_resized_;
  double least_tick_ = 0;
  QValueAxis* axis_ = nullptr;  // the chart's
  struct Plot {
    QChart* chart = nullptr;  // an item in this one
    double share = 1;
  };
  std::vector<Plot> plots_;
  // The scene's, as items in this one.
  Layer* below_ = nullptr;
  Layer* above_ = nullptr;
};

/// A distance of ticks out of 1, 2 and 5 times a power of ten, with at most `most` of them from low to high.
double tick_distance(double low, double high, int most);

/// The index of a name among those that are known; one that is not known is added.
std::size_t place_of(std::vector<std::string>& known, const std::string& name);

/// The shape of points, and their mark in a legend.
struct PointShape {
  QScatterSeries::MarkerShape shape;
  LegendEntry::Mark mark;
};
/// Another shape for each index; beyond the fourth they repeat.
PointShape point_shape(std::size_t index);

/// How a point is marked.
struct MarkStyle {
  QScatterSeries::MarkerShape shape = QScatterSeries::MarkerShapeCircle;
  double size = 8;
  QColor inner;
  QColor border;
};

/// Each adds a series, which has no axis yet; one without points adds none.
void add_line(QChart&, const QList<QPointF>& points, const QPen&, const QString& name = {});
void add_marks(QChart&, const QList<QPointF>& points, const MarkStyle&);
/// The area of a rectangle between two corners.
void add_band(QChart&, const QPointF& corner, const QPointF& opposite, const QColor&);

}  // namespace underlap::viewer
