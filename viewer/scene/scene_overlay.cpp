// SPDX-License-Identifier: Apache-2.0
// What lies over the lanes: found slices, the selected slice with its arrows, the selected range, marks, the cursor.
#include <QPainter>
#include <QPainterPath>
#include <cmath>

#include "profiler/analysis/late_rank.hpp"
#include "viewer/lanes/lane_painters.hpp"
#include "viewer/scene/rulers.hpp"
#include "viewer/scene/scene.hpp"
#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr std::size_t kMostArrows = 200;

QString text_of(std::int64_t ns) { return QString::fromStdString(time_text(ns)); }

// Writes on a ruler, starting at `left` or as far left as the text needs to fit. Covers what is drawn there.
void write_on_ruler(QPainter& painter, double left, const QString& text, const QSize& size, const Theme& theme) {
  constexpr double kInset = 4, kHigh = 16;
  const double width = painter.fontMetrics().horizontalAdvance(text) + 2 * kInset;
  const QRectF where(std::clamp(left, 1.0 * Scene::kNames, std::max(1.0 * Scene::kNames, size.width() - width)), 2,
                     width, kHigh);
  painter.fillRect(where, theme.surface);
  painter.drawText(where, Qt::AlignCenter, text);
}

// A line that leaves to the right and arrives from the left, with a head.
void draw_arrow(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color) {
  const double bend = std::clamp(std::abs(to.x() - from.x()) / 2, 12.0, 80.0);
  QPainterPath path(from);
  path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
  painter.setPen(QPen(color, 1.4));
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(path);
  painter.setBrush(color);
  painter.drawPolygon(QPolygonF({to, to + QPointF(-6, -3.5), to + QPointF(-6, 3.5)}));
}

// Marks found slices of one row. Narrow ones have a tick above and below, so that what they show stays visible; those
// closer than a pixel have one mark.
void mark_found(QPainter& painter, const QRectF& row, const View& view, std::span<const TimeRange> found) {
  constexpr double kNarrow = 5, kTick = 4, kApart = 1;  // pixels
  const auto first_ending_after = [&](double x, std::span<const TimeRange> of) {
    return std::ranges::partition_point(of, [&](const TimeRange& one) { return view.x_of(one.end_ns) < x; });
  };
  std::span<const TimeRange> left_over(first_ending_after(0, found), found.end());
  while (!left_over.empty() && view.x_of(left_over.front().begin_ns) < view.width) {
    const double left = std::max(view.x_of(left_over.front().begin_ns), -2.0);
    const double right = std::min(view.x_of(left_over.front().end_ns), view.width + 2.0);
    const double width = std::max(right - left, 1.0);
    if (width < kNarrow) {
      painter.fillRect(QRectF(row.left() + left, row.top(), width, kTick), painter.pen().color());
      painter.fillRect(QRectF(row.left() + left, row.bottom() - kTick, width, kTick), painter.pen().color());
    } else {
      painter.drawRect(QRectF(row.left() + left, row.top(), width, row.height()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
    left_over = left_over.subspan(1);
    if (width < kNarrow) left_over = {first_ending_after(left + width + kApart, left_over), left_over.end()};
  }
}

// Links of a collective lead from the member that started last to the others.
Links find_links(const Timeline& timeline, const analysis::Summary& summary, std::uint32_t slice) {
  Links links;
  for (const Flow& flow : timeline.trace().flows)
    if ((flow.from == slice || flow.to == slice) && links.arrows.size() < kMostArrows)
      links.arrows.push_back({flow.from, flow.to, flow.kind == FlowKind::dependency});
  std::vector<std::uint32_t> members = members_of(summary, slice);
  if (members.empty()) return links;
  members.push_back(slice);
  const auto begins = [&](std::uint32_t member) { return timeline.begin_ns(member); };
  const auto [first, last] = std::ranges::minmax(members, {}, begins);
  if (begins(last) > begins(first)) links.late = last;
  std::int64_t wait_ns = 0, exposed_ns = 0;
  for (const std::uint32_t member : members)
    if (const ExposedSlice* exposed = timeline.exposed_of(member)) {
      wait_ns += exposed->wait_ns;
      exposed_ns += exposed->exposed_ns();
    }
  links.is_late = links.late != Timeline::kNoSlice &&
                  analysis::is_wait_notable(static_cast<double>(wait_ns), static_cast<double>(exposed_ns));
  for (const std::uint32_t member : members)
    if (member != last && links.arrows.size() < kMostArrows) links.arrows.push_back({last, member});
  return links;
}

}  // namespace

std::optional<QRect> Scene::rect_of(std::uint32_t slice, const std::vector<PlacedLane>& layout, const QSize& size,
                                    const SceneState& state) const {
  if (slice >= timeline_.trace().size()) return std::nullopt;
  Timeline::Place place = timeline_.place_of(slice);
  if (place.lane == nullptr) return std::nullopt;
  const int row_of_lane = arrangement_.row_of(place.lane_index);
  if (row_of_lane >= 0 && arrangement_.lanes()[static_cast<std::size_t>(row_of_lane)].is_folded)
    place = timeline_.strip_place_of(place.lane->rank);
  const auto lane = std::ranges::find(layout, place.lane_index, &PlacedLane::lane);
  if (lane == layout.end()) return std::nullopt;
  const View view = view_of(size, state);
  const double left = view.x_of(timeline_.begin_ns(slice));
  const double right = view.x_of(timeline_.end_ns(slice));
  const int height = height_of_row(place.lane->kind, lane->is_collapsed);
  const int top = lane->where.top() + (lane->is_collapsed ? 0 : static_cast<int>(place.row) * height);
  const double far = 4.0 * size.width();
  const int x = kNames + static_cast<int>(std::lround(std::clamp(left, -far, far)));
  const int end = kNames + static_cast<int>(std::lround(std::clamp(right, -far, far)));
  return QRect(x, top, std::max(1, end - x), height - 1);
}

void Scene::draw_over(QPainter& painter, const QSize& size, const SceneState& state, const Theme& theme) const {
  const View view = view_of(size, state);
  const auto x_of = [&](double ns) { return kNames + view.x_of(ns); };
  const int bottom = bottom_of(size, state);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setClipRect(QRect(kNames, 0, size.width() - kNames, bottom));
  if (state.range) {
    const auto [begin, end] = *state.range;
    const QRectF range(x_of(begin), 0, view.x_of(end) - view.x_of(begin), size.height());
    QColor shade = theme.accent;
    shade.setAlpha(38);
    painter.fillRect(range, shade);
  }
  for (const std::int64_t mark : state.marks) {
    painter.setPen(QPen(theme.accent, 1.2, Qt::DashLine));
    painter.drawLine(QPointF(x_of(mark), 0), QPointF(x_of(mark), size.height()));
    painter.drawText(QPointF(x_of(mark) + 4, bottom - 6), text_of(mark - state.origin_ns));
  }
  if (state.cursor_ns) {
    QColor faint = theme.dim_text;
    faint.setAlpha(90);
    painter.setPen(faint);
    painter.drawLine(QPointF(x_of(*state.cursor_ns), kRulers), QPointF(x_of(*state.cursor_ns), size.height()));
    painter.setPen(theme.text);
    write_on_ruler(painter, x_of(*state.cursor_ns) + 4,
                   moment_text(*state.cursor_ns - static_cast<double>(state.origin_ns), state.ns_per_pixel), size,
                   theme);
  }
  if (state.range) {
    painter.setPen(theme.accent);
    write_on_ruler(painter, x_of(state.range->begin_ns) + 1, text_of(state.range->end_ns - state.range->begin_ns), size,
                   theme);
  }
  painter.setClipRect(QRect(kNames, kRulers, size.width() - kNames, bottom - kRulers));
  if (state.found) draw_found(painter, size, state, theme);
  draw_arrows(painter, size, state, theme);
  painter.restore();
}

// On the strip of a collapsed rank those of its folded lanes.
void Scene::draw_found(QPainter& painter, const QSize& size, const SceneState& state, const Theme& theme) const {
  const View view = view_of(size, state);
  painter.save();
  painter.setPen(QPen(theme.text, 1));
  painter.setBrush(Qt::NoBrush);
  for (const PlacedLane& placed : place(size, state)) {
    const Lane& lane = timeline_.lanes()[placed.lane];
    const int height = height_of_row(lane.kind, placed.is_collapsed);
    QRectF row(kNames, placed.where.top(), view.width, height - 1);
    if (lane.kind == LaneKind::strip && placed.is_collapsed)
      mark_found(painter, row, view, state.found->in_rank(lane.rank));
    for (std::size_t i = 0; i < lane.rows.size(); ++i) {
      mark_found(painter, row, view, state.found->in_row(placed.lane, i));
      if (!placed.is_collapsed) row.translate(0, height);
    }
  }
  painter.restore();
}

const Links& Scene::links_of(std::uint32_t slice) const {
  if (linked_slice_ != slice) {
    links_ = find_links(timeline_, summary_, slice);
    linked_slice_ = slice;
  }
  return links_;
}

// An arrow from or to a lane out of sight leaves the picture there. None leads back in time: one to a slice that waited
// ends where the wait does.
void Scene::draw_arrows(QPainter& painter, const QSize& size, const SceneState& state, const Theme& theme) const {
  if (state.selected >= timeline_.trace().size()) return;
  const std::vector<PlacedLane> lanes = layout(size.width(), state);
  const Links& links = links_of(state.selected);
  for (const Arrow& arrow : links.arrows) {
    const auto from = rect_of(arrow.from, lanes, size, state), to = rect_of(arrow.to, lanes, size, state);
    if (!from || !to) continue;
    // A cause leaves at its end where that comes before the effect begins, as a call and its kernel do not.
    const bool is_over = from->right() <= to->left();
    const int leaves = is_over || arrow.waits_for_end ? from->right() : from->left();
    const int arrives = std::clamp(leaves, to->left(), to->right());
    draw_arrow(painter, QPointF(leaves, from->center().y()), QPointF(arrives, to->center().y()), theme.accent);
  }
  painter.setBrush(Qt::NoBrush);
  const QRect seen(kNames, 0, size.width() - kNames, size.height());
  const std::optional<QRect> late = links.is_late ? rect_of(links.late, lanes, size, state) : std::nullopt;
  if (late && seen.intersects(*late)) {
    painter.setPen(QPen(theme.worse, 2));
    painter.drawRect(QRectF(*late).adjusted(-3, -3, 3, 3));
    const QRectF word(std::min(late->right() + 5, size.width() - 40), late->top(), 36, late->height());
    painter.fillRect(word, theme.background);
    painter.drawText(word, Qt::AlignCenter, "LATE");
  }
  const std::optional<QRect> selected = rect_of(state.selected, lanes, size, state);
  if (!selected) return;
  painter.setPen(QPen(theme.accent, 2));
  QColor shade = theme.accent;
  shade.setAlpha(60);
  if (state.found) painter.setBrush(shade);
  painter.drawRect(QRectF(*selected).adjusted(-1, -1, 1, 1));
}

}  // namespace underlap::viewer
