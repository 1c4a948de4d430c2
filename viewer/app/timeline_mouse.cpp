// SPDX-License-Identifier: Apache-2.0
// Mouse input of a timeline: zoom, pan, select, move lanes, and show tooltips.
#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <cmath>

#include "viewer/app/timeline_view.hpp"
#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr double kZoomOfWheel = 1.0015;  // a degree of the wheel is eight
constexpr int kDragAfter = 4;            // pixels before a press is a drag

QString on_one_line(const QString& text) { return text.toHtmlEscaped().replace(QLatin1Char(' '), "&nbsp;"); }

// Only a long value wraps; names of templates, which can have thousands of characters, lose their middle.
QString value_text(const QString& value) {
  constexpr qsizetype kLine = 60, kLongest = 240;  // characters
  if (value.size() <= kLine) return on_one_line(value);
  if (value.size() <= kLongest) return value.toHtmlEscaped();
  return (value.first(kLongest / 2) + QChar(0x2026) + value.last(kLongest / 2)).toHtmlEscaped();
}

}  // namespace

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint turned = event->angleDelta();
  if (event->modifiers() & Qt::ControlModifier) {
    zoom(std::pow(kZoomOfWheel, turned.y()), time_at(static_cast<int>(event->position().x())));
  } else if (event->modifiers() & Qt::ShiftModifier || std::abs(turned.x()) > std::abs(turned.y())) {
    pan(-(turned.x() != 0 ? turned.x() : turned.y()));
  } else {
    scroll_bar_->setValue(scroll_bar_->value() - turned.y() / 2);
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
  setFocus();
  pressed_at_ = dragged_to_ = event->pos();
  has_dragged_ = false;
  const bool is_on_lanes = pressed_at_.x() >= Scene::kNames;
  const bool selects =
      event->modifiers() & (Qt::ShiftModifier | Qt::ControlModifier) || pressed_at_.y() < Scene::kRulers;
  drag_ = Drag::none;
  if (!is_on_lanes) {
    const Scene::Hit hit = scene_.hit(pressed_at_, scene_size(), state_);
    if (!hit.lane || event->button() != Qt::LeftButton) return;
    drag_ = Drag::lane;
    dragged_lane_ = hit.lane->lane;
    return;
  }
  drag_ = selects && event->button() == Qt::LeftButton ? Drag::range : Drag::pan;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->pos();
  cursor_x_ = at.x();
  place_cursor();
  if (drag_ != Drag::none && (at - pressed_at_).manhattanLength() >= kDragAfter) has_dragged_ = true;
  if (drag_ == Drag::pan && has_dragged_) {
    scroll_bar_->setValue(scroll_bar_->value() - (at.y() - dragged_to_.y()));
    pan(dragged_to_.x() - at.x());
  } else if (drag_ == Drag::lane && has_dragged_) {
    drag_lane(at);
  } else if (drag_ == Drag::range && has_dragged_) {
    const auto [first, last] = std::minmax({pressed_at_.x(), at.x()});
    select_range(TimeRange{std::llround(time_at(first)), std::llround(time_at(last))});
  }
  dragged_to_ = at;
  update();
}

// It changes places with a lane when the mouse is past that one's middle, so that lanes of two heights never swap back.
void TimelineView::drag_lane(const QPoint& at) {
  const int row = arrangement_.row_of(dragged_lane_);
  const Scene::Hit hit = scene_.hit({0, at.y()}, scene_size(), state_);
  if (!hit.lane || hit.lane->row == row) return;
  const bool is_past =
      hit.lane->row > row ? at.y() > hit.lane->where.center().y() : at.y() < hit.lane->where.center().y();
  if (is_past) arrangement_.move(row, hit.lane->row - row);
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::none);
  if (has_dragged_) {
    if (drag == Drag::pan) remember();
    return;
  }
  const Scene::Hit hit = scene_.hit(event->pos(), scene_size(), state_);
  if (event->button() == Qt::MiddleButton) return zoom_to(hit);
  if (event->button() != Qt::LeftButton) return;
  if (hit.is_on_name && hit.lane) return click_name(*hit.lane);
  if (hit.is_on_name) return;
  const bool is_collapsed_rank =
      hit.lane && hit.lane->is_collapsed && timeline().lanes()[hit.lane->lane].kind == LaneKind::strip;
  if (is_collapsed_rank) return click_name(*hit.lane);
  select(hit.slice);
}

// A click on a lane's name expands or collapses it, of a strip its rank; with Ctrl it pins it.
void TimelineView::click_name(const PlacedLane& placed) {
  const ArrangedLane lane = arrangement_.lanes()[static_cast<std::size_t>(placed.row)];
  if (QApplication::keyboardModifiers() & Qt::ControlModifier)
    arrangement_.set_pinned(placed.row, !lane.is_pinned);
  else
    arrangement_.set_collapsed(placed.row, !lane.is_collapsed);
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  zoom_to(scene_.hit(event->pos(), scene_size(), state_));
}

void TimelineView::zoom_to(const Scene::Hit& hit) {
  if (hit.slice == Timeline::kNoSlice) return;
  select(hit.slice);
  show_range({timeline().begin_ns(hit.slice), timeline().end_ns(hit.slice)});
}

// Of the slice at the mouse, or of the selected one if a key asks.
void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
  const bool is_by_mouse = event->reason() == QContextMenuEvent::Mouse;
  const std::uint32_t slice = is_by_mouse ? scene_.hit(event->pos(), scene_size(), state_).slice : state_.selected;
  if (slice >= timeline().trace().size()) return;
  if (is_by_mouse) select(slice);
  emit menu_wanted(slice, event->globalPos());
}

void TimelineView::leaveEvent(QEvent*) {
  cursor_x_.reset();
  place_cursor();
  update();
}

// Of a slice, or of a moment of a rank's strip; empty where there is nothing.
QString TimelineView::tooltip_of(const Scene::Hit& hit) const {
  if (hit.is_on_name) return hit.lane ? tr("click: expand or collapse; Ctrl+click: pin; drag: move") : QString();
  std::vector<Fact> facts;
  if (hit.slice != Timeline::kNoSlice) {
    facts = short_facts_of(timeline(), hit.slice);
  } else if (hit.lane && timeline().lanes()[hit.lane->lane].kind == LaneKind::strip) {
    facts = strip_facts_of(timeline(), timeline().lanes()[hit.lane->lane].rank,
                           static_cast<std::int64_t>(std::floor(hit.time_ns)));
  }
  if (facts.empty()) return {};
  QString rows;
  for (const Fact& fact : facts)
    rows += QString("<tr><td>%1&nbsp;&nbsp;</td><td>%2</td></tr>")
                .arg(on_one_line(QString::fromStdString(fact.label)), value_text(QString::fromStdString(fact.value)));
  return "<table>" + rows + "</table>";
}

bool TimelineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Scene::Hit hit = scene_.hit(help->pos(), scene_size(), state_);
  QToolTip::showText(help->globalPos(), tooltip_of(hit), this);  // an empty text hides it
  return true;
}

}  // namespace underlap::viewer
