// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/overview_bar.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <cmath>

#include "viewer/app/labels.hpp"
#include "viewer/app/timeline_view.hpp"
#include "viewer/lanes/lane_painters.hpp"
#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr int kHeight = 22;
constexpr int kEdge = 3;             // pixels above and below the row
constexpr double kLeastSeen = 4;     // pixels of the part that is seen, however short it is
constexpr float kOutOfSight = 0.6F;  // of the colors of what is not seen the background's share

}  // namespace

OverviewBar::OverviewBar(TimelineView& timeline) : timeline_(timeline) {
  setFixedHeight(kHeight);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Overview"));
  setAccessibleDescription(tr("The whole trace, and the part that the timeline shows"));
  setToolTip(tr("The whole trace, with all ranks overlaid; click or drag to go there"));
  connect(&timeline, &TimelineView::view_changed, this, QOverload<>::of(&QWidget::update));
}

View OverviewBar::all(double scale) const {
  const int width = std::max(1, static_cast<int>(std::lround(timeline_.lanes_width() * scale)));
  return {
      .begin_ns = 0, .ns_per_pixel = static_cast<double>(timeline_.timeline().all().end_ns) / width, .width = width};
}

double OverviewBar::x_of(double time_ns) const { return Scene::kNames + all(1).x_of(time_ns); }

QRectF OverviewBar::seen() const {
  const SceneState& state = timeline_.state();
  const double first = Scene::kNames, last = first + timeline_.lanes_width();
  const double left = std::clamp(x_of(state.begin_ns), first, last - kLeastSeen);
  const double right = std::clamp(x_of(state.begin_ns + state.ns_per_pixel * timeline_.lanes_width()), first, last);
  return {left, 0, std::max(right - left, kLeastSeen), 1.0 * height()};
}

void OverviewBar::draw_all(double scale) {
  const Palette& palette = timeline_.palette();
  const View view = all(scale);
  const int rows = static_cast<int>(std::lround((kHeight - 2 * kEdge) * scale));
  image_ = QImage(view.width, rows, QImage::Format_RGB32);
  drawn_in_ = &palette.theme();
  RowPicture row;
  ImageSurface surface(image_, scale);
  const LaneContext context{.surface = surface,
                            .timeline = timeline_.timeline(),
                            .palette = palette,
                            .view = view,
                            .scale = scale,
                            .has_text = false,
                            .row = row};
  row.begin(view.width, palette.theme().idle.rgb());
  for (const Lane& lane : timeline_.timeline().lanes()) {
    if (lane.kind != LaneKind::strip) continue;
    for (const LaneRow& of : lane.rows) {
      find_pieces(of.segments, view, row.pieces);
      row.add_pieces(rows, context);
    }
  }
  surface.draw_columns(image_.rect(), row.columns);
}

void OverviewBar::paintEvent(QPaintEvent*) {
  const double scale = devicePixelRatioF();
  const Theme& theme = timeline_.palette().theme();
  if (image_.width() != all(scale).width || drawn_in_ != &theme) draw_all(scale);
  QPainter painter(this);
  painter.fillRect(rect(), theme.surface);
  QFont small = font();
  small.setPixelSize(11);
  painter.setFont(small);
  painter.setPen(theme.dim_text);
  const auto length = QString::fromStdString(time_text(timeline_.timeline().length_ns()));
  painter.drawText(QRect(8, 0, Scene::kNames - 14, height()), Qt::AlignVCenter, tr("all ranks, %1").arg(length));
  painter.drawImage(QRectF(Scene::kNames, kEdge, timeline_.lanes_width(), kHeight - 2 * kEdge), image_);
  draw_over(painter);
}

void OverviewBar::draw_found(QPainter& painter) {
  const SceneState& state = timeline_.state();
  if (!state.found) return;
  if (found_ != state.found || found_width_ != width()) {
    found_ = state.found;
    found_width_ = width();
    found_at_.clear();
    for (const std::int64_t start_ns : found_->starts_ns())
      if (const double x = std::floor(x_of(static_cast<double>(start_ns))); found_at_.empty() || x > found_at_.back())
        found_at_.push_back(x);
  }
  for (const double x : found_at_) painter.fillRect(QRectF(x, 0, 1, kEdge), timeline_.palette().theme().text);
}

void OverviewBar::draw_over(QPainter& painter) {
  const Theme& theme = timeline_.palette().theme();
  const SceneState& state = timeline_.state();
  const QRectF row(Scene::kNames, 0, timeline_.lanes_width(), height()), part = seen();
  painter.setClipRect(row);
  QColor veil = theme.surface;
  veil.setAlphaF(kOutOfSight);
  painter.fillRect(QRectF(row.topLeft(), part.bottomLeft()), veil);
  painter.fillRect(QRectF(part.topRight(), row.bottomRight()), veil);
  if (state.range) {
    const double left = x_of(state.range->begin_ns);
    QColor shade = theme.accent;
    shade.setAlpha(60);
    painter.fillRect(QRectF(left, 0, std::max(1.0, x_of(state.range->end_ns) - left), height()), shade);
  }
  painter.setPen(QPen(theme.accent, 1.2, Qt::DashLine));
  for (const std::int64_t mark : state.marks) painter.drawLine(QPointF(x_of(mark), 0), QPointF(x_of(mark), height()));
  draw_found(painter);
  if (state.selected < timeline_.timeline().trace().size()) {
    const double x = x_of(timeline_.timeline().begin_ns(state.selected));
    painter.fillRect(QRectF(x - 1, 0, 2, kEdge), theme.accent);
    painter.fillRect(QRectF(x - 1, height() - kEdge, 2, kEdge), theme.accent);
  }
  painter.setClipping(false);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.accent, 1.4));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(part.adjusted(0.7, 0.7, -0.7, -0.7), 2, 2);
}

void OverviewBar::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) go_to(event->position());
}

void OverviewBar::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) go_to(event->position());
}

// The middle of what is seen, as by panning.
void OverviewBar::go_to(const QPointF& at) {
  if (at.x() < Scene::kNames) return;
  const SceneState& state = timeline_.state();
  const double middle = state.begin_ns + 0.5 * state.ns_per_pixel * timeline_.lanes_width();
  timeline_.pan((all(1).time_of(at.x() - Scene::kNames) - middle) / state.ns_per_pixel);
}

QWidget* with_overview(QWidget* heading, TimelineView* timeline) {
  auto* panel = new QWidget;
  auto* layout = column_of(panel, 0, 0);
  if (heading != nullptr) layout->addWidget(heading);
  layout->addWidget(new OverviewBar(*timeline));
  layout->addWidget(timeline, 1);
  return panel;
}

}  // namespace underlap::viewer
