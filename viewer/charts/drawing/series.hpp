// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QList>
#include <QPen>
#include <QPointF>
#include <QScatterSeries>
#include <QString>
#include <cstddef>

#include "viewer/charts/drawing/figure.hpp"

namespace underlap::viewer {

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
