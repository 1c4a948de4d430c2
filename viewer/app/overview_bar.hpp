// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QRectF>
#include <QWidget>
#include <memory>
#include <vector>

#include "viewer/timeline/pieces.hpp"

namespace underlap::viewer {

struct Theme;
class FoundSlices;
class TimelineView;

/// All of a trace in one low row, its ranks over each other, so that what any of them has exposed is seen; and in it
/// which part the timeline shows. A press or a drag moves the timeline there.
class OverviewBar : public QWidget {
  Q_OBJECT

 public:
  explicit OverviewBar(TimelineView& timeline);

  /// Where the part that the timeline shows lies here, in pixels; within the bar.
  QRectF seen() const;
  /// Where a moment lies.
  double x_of(double time_ns) const;

 protected:
  void paintEvent(QPaintEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void mouseMoveEvent(QMouseEvent*) override;

 private:
  View all(double scale) const;
  void draw_all(double scale);
  void draw_over(QPainter&);
  void draw_found(QPainter&);
  void go_to(const QPointF& at);

  TimelineView& timeline_;
  QImage image_;  ///< of all there is: drawn again for another width or theme alone
  const Theme* drawn_in_ = nullptr;
  std::shared_ptr<const FoundSlices> found_;  ///< whose places are known
  std::vector<double> found_at_;              ///< pixels from the left, each once
  int found_width_ = 0;                       ///< of the bar
};

/// A timeline below the overview of its trace, and below `heading` if there is one.
QWidget* with_overview(QWidget* heading, TimelineView* timeline);

}  // namespace underlap::viewer
