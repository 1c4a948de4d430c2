// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/series.hpp"

#include <QAreaSeries>
#include <QLineSeries>
#include <array>

namespace underlap::viewer {

PointShape point_shape(std::size_t index) {
  using Mark = LegendEntry::Mark;
  constexpr std::array kShapes{PointShape{QScatterSeries::MarkerShapeCircle, Mark::dot},
                               PointShape{QScatterSeries::MarkerShapeRectangle, Mark::square},
                               PointShape{QScatterSeries::MarkerShapeRotatedRectangle, Mark::diamond},
                               PointShape{QScatterSeries::MarkerShapeTriangle, Mark::triangle}};
  return kShapes.at(index % kShapes.size());
}

void add_line(QChart& chart, const QList<QPointF>& points, const QPen& pen, const QString& name) {
  if (points.isEmpty()) return;
  auto* line = new QLineSeries;
  line->setName(name);
  line->setPen(pen);
  line->append(points);
  chart.addSeries(line);
}

void add_marks(QChart& chart, const QList<QPointF>& points, const MarkStyle& style) {
  if (points.isEmpty()) return;
  auto* marks = new QScatterSeries;
  marks->setMarkerShape(style.shape);
  marks->setMarkerSize(style.size);
  marks->setColor(style.inner);
  marks->setPen(style.border == style.inner ? Qt::NoPen : QPen(style.border, 1.8));
  marks->append(points);
  chart.addSeries(marks);
}

void add_band(QChart& chart, const QPointF& corner, const QPointF& opposite, const QColor& colour) {
  auto* area = new QAreaSeries;
  const auto edge = [&](double y) {
    auto* line = new QLineSeries(area);
    line->append({{corner.x(), y}, {opposite.x(), y}});
    return line;
  };
  area->setUpperSeries(edge(corner.y()));
  area->setLowerSeries(edge(opposite.y()));
  area->setBrush(colour);
  area->setPen(Qt::NoPen);
  chart.addSeries(area);
}

}  // namespace underlap::viewer
