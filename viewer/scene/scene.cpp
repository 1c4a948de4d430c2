// SPDX-License-Identifier: Apache-2.0
#include "viewer/scene/scene.hpp"

#include <QScopeGuard>
#include <QThreadPool>
#include <atomic>
#include <cmath>
#include <future>

#include "profiler/analysis/late_rank.hpp"
#include "viewer/lanes/lane_painters.hpp"
#include "viewer/scene/rulers.hpp"
#include "viewer/timeline/lane_pairs.hpp"

namespace underlap::viewer {
namespace {

constexpr int kGap = 2;        // below a lane
constexpr int kAboveRank = 6;  // above a rank's strip
constexpr int kGhost = 7;      // height of the ghost below a lane
constexpr int kTimeRuler = 22;
constexpr int kStepBand = 4;   // height of a rank's own steps above its strip
constexpr int kTriangle = 12;  // width of the triangle left of a rank's name

int scaled(int pixels, double scale) { return static_cast<int>(std::lround(pixels * scale)); }

QRect scaled(const QRect& rect, double scale) {
  const int left = scaled(rect.left(), scale), top = scaled(rect.top(), scale);
  return {left, top, scaled(rect.left() + rect.width(), scale) - left, scaled(rect.top() + rect.height(), scale) - top};
}

// Three digits: there is no room for more.
QString short_time(double ms) {
  const char* unit = ms < 999.5 ? "ms" : "s";
  const double amount = ms < 999.5 ? ms : ms / 1e3;
  return QString("%1 %2").arg(amount, 0, 'f', amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0).arg(unit);
}

// "18.3 ms exposed": of the median step, as `underlap analyze` has it, where steps are known.
std::map<std::int32_t, QString> notes_of(const analysis::Summary& summary, std::optional<std::int32_t> late_rank) {
  std::map<std::int32_t, QString> notes;
  for (const analysis::RankSummary& rank : summary.shown()) {
    if (rank.windows.empty()) continue;
    const double ms = analysis::typical(rank, [](const analysis::Split& s) { return s.exposed_ns(); }) / 1e6;
    notes[rank.rank] = QString("%1%2 exposed").arg(late_rank == rank.rank ? "LATE, " : "", short_time(ms));
  }
  return notes;
}

// Of several that which is exposed for longest, or else the longest; of very many one where most exposed time lies.
std::uint32_t slice_in_pixel(const Timeline& timeline, const LaneRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  constexpr std::size_t kMostLookedAt = 64;
  const auto [from, to] = timeline.slices_within(row, begin_ns, end_ns);
  if (to - from > kMostLookedAt)
    if (const std::uint32_t exposed = timeline.exposed_within(row, begin_ns, end_ns); exposed != Timeline::kNoSlice)
      return exposed;
  std::uint32_t best = Timeline::kNoSlice;
  std::pair<std::int64_t, std::int64_t> most{-1, -1};  // exposed, duration
  for (std::size_t i = from; i < std::min(to, from + kMostLookedAt); ++i) {
    const ExposedSlice* exposed = timeline.exposed_of(row.slices[i]);
    const std::pair weight{exposed == nullptr ? 0 : exposed->exposed_ns(),
                           timeline.trace().duration_ns()[row.slices[i]]};
    if (weight > most) best = row.slices[i];
    most = std::max(most, weight);
  }
  return best;
}

std::optional<std::int32_t> late_rank_of(const analysis::Summary& summary) {
  const std::optional<analysis::LateRank> late = analysis::notable_late_rank(summary);
  return late ? std::optional(late->rank) : std::nullopt;
}

bool has_ghost(const Lane& lane) { return lane.kind == LaneKind::strip || lane.kind == LaneKind::stream; }

}  // namespace

Scene::Scene(const Timeline& timeline, const analysis::Summary& summary, const LaneArrangement& arrangement)
    : timeline_(timeline),
      summary_(summary),
      arrangement_(arrangement),
      legend_(legend_of(timeline)),
      late_rank_(late_rank_of(summary)),
      rank_notes_(notes_of(summary, late_rank_)) {}

void Scene::set_ghost(std::optional<Ghost> ghost) {
  ghost_ = ghost;
  ghost_lanes_.clear();
  if (!ghost_) return;
  ghost_lanes_ = lane_pairs(timeline_, *ghost_->timeline);
}

int Scene::height_of(const ArrangedLane& arranged) const {
  if (!arranged.is_visible()) return 0;
  const Lane& lane = timeline_.lanes()[arranged.lane];
  return viewer::height_of(lane, arranged.is_collapsed) + kGap + (lane.kind == LaneKind::strip ? kAboveRank : 0) +
         (ghost_ && has_ghost(lane) ? kGhost : 0);
}

int Scene::height_of_lanes() const {
  int height = 0;
  for (const ArrangedLane& lane : arrangement_.lanes())
    if (!lane.is_pinned) height += height_of(lane);
  return height;
}

std::vector<PlacedLane> Scene::layout(int width, const SceneState& state) const {
  std::vector<PlacedLane> lanes;
  int top = kRulers;
  bool is_scrolled = false;
  for (int row = 0; row < arrangement_.rowCount(); ++row) {
    const ArrangedLane& lane = arrangement_.lanes()[static_cast<std::size_t>(row)];
    if (!lane.is_pinned && !std::exchange(is_scrolled, true)) top -= state.scroll;
    const int height = height_of(lane);
    const int above = timeline_.lanes()[lane.lane].kind == LaneKind::strip ? kAboveRank : 0;
    if (height > 0)
      lanes.push_back({lane.lane, row, lane.is_collapsed, {0, top + above, width, height - above - kGap}});
    top += height;
  }
  return lanes;
}

std::vector<PlacedLane> Scene::place(const QSize& size, const SceneState& state) const {
  std::vector<PlacedLane> placed = layout(size.width(), state);
  const auto first_scrolled = std::ranges::find_if_not(placed, [&](const PlacedLane& lane) { return is_pinned(lane); });
  const int end_of_pinned =
      first_scrolled == placed.begin() ? kRulers : (first_scrolled - 1)->where.bottom() + 1 + kGap;
  std::erase_if(placed, [&](const PlacedLane& lane) {
    return lane.where.top() >= bottom_of(size, state) || (!is_pinned(lane) && lane.where.bottom() < end_of_pinned);
  });
  return placed;
}

bool Scene::is_pinned(const PlacedLane& lane) const {
  return arrangement_.lanes()[static_cast<std::size_t>(lane.row)].is_pinned;
}

View Scene::view_of(const QSize& size, const SceneState& state, double scale) const {
  return {.begin_ns = state.begin_ns,
          .ns_per_pixel = state.ns_per_pixel / scale,
          .width = std::max(0, scaled(size.width(), scale) - scaled(kNames, scale))};
}

Scene::Hit Scene::hit(const QPoint& at, const QSize& size, const SceneState& state) const {
  Hit hit;
  hit.time_ns = view_of(size, state).time_of(at.x() - kNames);
  hit.is_on_name = at.x() < kNames;
  if (at.y() < kRulers || at.y() >= bottom_of(size, state)) return hit;
  for (const PlacedLane& placed : place(size, state))
    if (placed.where.contains(at)) {
      hit.lane = placed;
      break;
    }
  if (!hit.lane || hit.is_on_name) return hit;
  const Lane& lane = timeline_.lanes()[hit.lane->lane];
  const auto rows = static_cast<int>(lane.rows.size());
  const int row_height = std::max(1, height_of_row(lane.kind, hit.lane->is_collapsed));
  const int row = hit.lane->is_collapsed ? 0 : std::min((at.y() - hit.lane->where.top()) / row_height, rows - 1);
  if (row < 0 || rows == 0) return hit;
  // A slice narrower than a finger is taken where it is near: three pixels to either side.
  const LaneRow& of = lane.rows[static_cast<std::size_t>(row)];
  for (const double pixels : {0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0}) {
    const double begin = hit.time_ns + (pixels - 0.5) * state.ns_per_pixel;
    hit.slice = slice_in_pixel(timeline_, of, static_cast<std::int64_t>(begin),
                               static_cast<std::int64_t>(std::ceil(begin + state.ns_per_pixel)));
    if (hit.slice != Timeline::kNoSlice) return hit;
  }
  return hit;
}

void Scene::draw(Surface& surface, const QSize& size, double scale, const SceneState& state, const Palette& palette,
                 const QFont& font) const {
  const Theme& theme = palette.theme();
  surface.fill(scaled(QRect({0, 0}, size), scale), theme.background.rgb());
  const View view = view_of(size, state, scale);
  const std::vector<PlacedLane> placed = place(size, state);
  // Pinned lanes last, since they cover the scrolled ones.
  const auto first_scrolled = std::ranges::find_if_not(placed, [&](const PlacedLane& lane) { return is_pinned(lane); });
  draw_lanes(surface, {first_scrolled, placed.end()}, view, scale, state, palette);
  draw_lanes(surface, {placed.begin(), first_scrolled}, view, scale, state, palette);
  surface.fill(scaled(QRect(0, 0, kNames, kRulers), scale), theme.surface.rgb());
  if (timeline_.has_own_steps())
    surface.write({scaled(QRect(8, kTimeRuler, kNames - 14, kRulers - kTimeRuler), scale),
                   QString("steps of rank %1").arg(timeline_.first_steps().front().rank), theme.dim_text.rgb()});
  const QRect rulers = scaled(QRect(kNames, 0, size.width() - kNames, kRulers), scale);
  const int above = scaled(kTimeRuler, scale);
  paint_time_ruler(surface, {rulers.left(), rulers.top(), rulers.width(), above}, view,
                   static_cast<double>(state.origin_ns), palette, scale, font);
  paint_step_ruler(surface, {rulers.left(), above, rulers.width(), rulers.height() - above}, view,
                   timeline_.first_steps(), timeline_.uncounted(), palette, scale, font);
  if (state.has_legend) {
    const QRect legend = scaled(QRect(0, bottom_of(size, state), size.width(), kLegend), scale);
    surface.drop_labels_below(legend.top());
    paint_legend(surface, legend, legend_, palette, scale, font);
  }
  surface.finish_text(font);
}

// Two threads take one lane after the other: each has pixels of its own. A third would hardly be felt.
void Scene::draw_lanes(Surface& surface, const std::vector<PlacedLane>& lanes, const View& view, double scale,
                       const SceneState& state, const Palette& palette) const {
  draw_names(surface, lanes, scale, palette);
  std::atomic<std::size_t> next{0};
  const auto draw_on = [&](Surface& on) {
    for (std::size_t i = next++; i < lanes.size(); i = next++) draw_lane(on, lanes[i], view, scale, state, palette);
  };
  const std::unique_ptr<Surface> second = lanes.size() > 1 ? surface.for_second_thread() : nullptr;
  std::packaged_task<void()> help([&] { draw_on(*second); });
  std::future<void> helped = help.get_future();
  const bool has_help = second && QThreadPool::globalInstance()->tryStart([&help] { help(); });
  {
    const auto wait = qScopeGuard([&] {
      if (has_help) helped.wait();
    });
    draw_on(surface);
  }
  if (!has_help) return;
  helped.get();  // throws what the other thread met
  surface.take_labels(*second);
}

void Scene::draw_lane(Surface& surface, const PlacedLane& placed, const View& view, double scale,
                      const SceneState& state, const Palette& palette) const {
  static thread_local RowPicture row;
  const Lane& lane = timeline_.lanes()[placed.lane];
  QRect where = scaled(placed.where, scale);
  where.setLeft(scaled(kNames, scale));
  QRect own = where;
  own.setHeight(scaled(viewer::height_of(lane, placed.is_collapsed), scale));
  const bool is_cut = own.top() < scaled(kRulers, scale);  // its text would cover the rulers
  const LaneContext context{.surface = surface,
                            .timeline = timeline_,
                            .palette = palette,
                            .view = view,
                            .scale = scale,
                            .has_text = state.has_text && !is_cut,
                            .row = row};
  if (lane.kind == LaneKind::strip && timeline_.has_own_steps()) {
    const int height = scaled(kStepBand, scale);
    paint_step_band(surface, {where.left(), own.top() - height - scaled(1, scale), where.width(), height}, view,
                    timeline_.steps_of(lane.rank), timeline_.first_steps(), palette);
  }
  paint_lane(lane, own, placed.is_collapsed, context);
  if (ghost_) draw_ghost(placed, where, context);
}

void Scene::draw_ghost(const PlacedLane& placed, const QRect& where, const LaneContext& of_lane) const {
  const auto found = ghost_lanes_.find(placed.lane);
  if (found == ghost_lanes_.end()) return;
  View shifted = of_lane.view;
  shifted.begin_ns -= static_cast<double>(ghost_->shift_ns);
  const int height = scaled(kGhost - 2, of_lane.scale);
  const QRect below(where.left(), where.bottom() - height, where.width(), height);
  paint_lane(ghost_->timeline->lanes()[found->second], below, true,
             {.surface = of_lane.surface,
              .timeline = *ghost_->timeline,
              .palette = of_lane.palette,
              .view = shifted,
              .scale = of_lane.scale,
              .has_text = false,
              .row = of_lane.row});
}

// A lane below the strip of its rank needs no other name than its own. One that is pinned, was moved, or whose strip
// has gone out of sight names its rank.
void Scene::draw_names(Surface& surface, const std::vector<PlacedLane>& lanes, double scale,
                       const Palette& palette) const {
  std::optional<std::int32_t> named;
  for (const PlacedLane& placed : lanes) {
    const Lane& lane = timeline_.lanes()[placed.lane];
    const bool names_rank = lane.kind != LaneKind::strip && (is_pinned(placed) || named != lane.rank);
    if (draw_name(surface, placed, names_rank, scale, palette)) named = lane.rank;
  }
}

bool Scene::draw_name(Surface& surface, const PlacedLane& placed, bool names_rank, double scale,
                      const Palette& palette) const {
  const Theme& theme = palette.theme();
  const Lane& lane = timeline_.lanes()[placed.lane];
  QRect name = placed.where;
  name.setWidth(kNames - 1);
  surface.fill(scaled(name.adjusted(0, 0, 0, 1), scale), theme.surface.rgb());
  const bool is_strip = lane.kind == LaneKind::strip;
  const bool is_late = is_strip && late_rank_ == lane.rank;
  const int height = std::max(height_of_row(lane.kind, placed.is_collapsed), placed.is_collapsed ? 13 : 0);
  // The name of a lane with several rows moves down as far as it fits, to stay visible.
  if (name.top() < kRulers) name.setTop(std::min(kRulers, name.bottom() + 1 - height));
  if (name.top() < kRulers) return false;
  name.setHeight(height);
  QString text = QString::fromStdString(lane.name);
  if (names_rank) text = QString("rank %1  %2").arg(lane.rank).arg(text);
  if (ghost_ && has_ghost(lane) && !ghost_lanes_.contains(placed.lane)) text += ": not in the baseline";
  if (is_late) surface.fill(scaled(QRect(0, name.top(), 3, height), scale), theme.worse.rgb());
  if (is_strip)
    surface.write({scaled(QRect(7, name.top(), kTriangle, height), scale), QChar(placed.is_collapsed ? 0x25b8 : 0x25be),
                   theme.dim_text.rgb()});
  surface.write({scaled(name.adjusted(is_strip ? 7 + kTriangle : 24, 0, is_strip ? -140 : -6, 0), scale), text,
                 is_strip ? theme.text.rgb() : theme.dim_text.rgb()});
  if (const auto note = rank_notes_.find(lane.rank); is_strip && note != rank_notes_.end())
    surface.write({scaled(name.adjusted(66, 0, -6, 0), scale), note->second,
                   is_late ? theme.worse.rgb() : theme.dim_text.rgb(), Qt::AlignRight | Qt::AlignVCenter});
  return true;
}

}  // namespace underlap::viewer
