// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/timeline_view.hpp"

#include <QPainter>
#include <QScrollBar>
#include <cmath>

namespace underlap::viewer {
namespace {

constexpr double kClosest = 0.02;  // nanoseconds a pixel
constexpr int kScrollBar = 14;
constexpr std::size_t kLongestHistory = 200;
constexpr int kPause = 300;  // milliseconds after which a view that was zoomed or panned to is one to come back to

}  // namespace

TimelineView::TimelineView(std::shared_ptr<const TraceDocument> document)
    : document_(std::move(document)), scroll_bar_(new QScrollBar(Qt::Vertical, this)) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Timeline"));
  setAccessibleDescription(tr("Streams of every rank over time; arrow keys move from slice to slice"));
  settle_.setSingleShot(true);
  settle_.setInterval(kPause);
  connect(&settle_, &QTimer::timeout, this, &TimelineView::remember);
  connect(scroll_bar_, &QScrollBar::valueChanged, this, [this](int value) {
    state_.scroll = value;
    changed();
  });
  connect(&arrangement_, &QAbstractItemModel::modelReset, this, &TimelineView::rearranged);
  connect(&arrangement_, &QAbstractItemModel::dataChanged, this, &TimelineView::rearranged);
  connect(&arrangement_, &QAbstractItemModel::rowsMoved, this, &TimelineView::rearranged);
}

void TimelineView::set_theme(const Theme& theme) {
  palette_ = Palette(theme);
  changed();
}

void TimelineView::set_ghost(std::optional<Ghost> ghost) {
  scene_.set_ghost(ghost);
  rearranged();
}

void TimelineView::set_legend(bool has_legend) {
  state_.has_legend = has_legend;
  rearranged();
}

void TimelineView::set_origin(std::int64_t origin_ns) {
  state_.origin_ns = origin_ns;
  changed();
}

QSize TimelineView::scene_size() const { return {std::max(width() - kScrollBar, Scene::kNames + 1), height()}; }

int TimelineView::lanes_width() const { return std::max(1, scene_size().width() - Scene::kNames); }

int TimelineView::lanes_height() const {
  return std::max(0, height() - Scene::kRulers - (state_.has_legend ? Scene::kLegend : 0));
}

double TimelineView::time_at(int x) const { return state_.begin_ns + (x - Scene::kNames) * state_.ns_per_pixel; }

// A little of the trace always stays in sight.
void TimelineView::set_view(double begin_ns, double ns_per_pixel, bool is_jump) {
  if (is_jump && !history_.empty()) remember();  // where the jump begins
  const auto length = static_cast<double>(timeline().all().end_ns);
  const double widest = 1.2 * length / lanes_width();
  state_.ns_per_pixel = std::clamp(ns_per_pixel, std::min(kClosest, widest), std::max(widest, kClosest));
  const double span = state_.ns_per_pixel * lanes_width();
  state_.begin_ns = std::clamp(begin_ns, -0.9 * span, length - 0.1 * span);
  fitted_.reset();
  place_cursor();
  if (is_jump) remember();
  changed();
}

// Keeps the cursor at the mouse when the shown time changes.
void TimelineView::place_cursor() {
  const bool is_on_lanes = cursor_x_ && *cursor_x_ >= Scene::kNames;
  state_.cursor_ns = is_on_lanes ? std::optional(time_at(*cursor_x_)) : std::nullopt;
}

// The time at the mouse, or of the selected slice if keys moved the view after the mouse.
double TimelineView::focus_ns() const {
  if (state_.cursor_ns) return *state_.cursor_ns;
  const double begin = state_.begin_ns, end = begin + state_.ns_per_pixel * lanes_width();
  if (state_.selected < timeline().trace().size()) {
    const double middle = 0.5 * (static_cast<double>(timeline().begin_ns(state_.selected)) +
                                 static_cast<double>(timeline().end_ns(state_.selected)));
    if (middle >= begin && middle <= end) return middle;
  }
  return (begin + end) / 2;
}

void TimelineView::remember() {
  settle_.stop();
  const std::pair now{state_.begin_ns, state_.ns_per_pixel};
  if (!history_.empty() && history_[place_in_history_] == now) return;
  if (!history_.empty()) history_.resize(place_in_history_ + 1);
  history_.push_back(now);
  if (history_.size() > kLongestHistory) history_.erase(history_.begin());
  place_in_history_ = history_.size() - 1;
}

void TimelineView::once_sized(std::function<void()> show) {
  if (has_size_) return show();
  seen_before_ = {};
  when_sized_ = std::move(show);
}

void TimelineView::show_time(double begin_ns, double ns_per_pixel) {
  once_sized([this, begin_ns, ns_per_pixel] { set_view(begin_ns, ns_per_pixel, true); });
}

void TimelineView::follow_time(double begin_ns, double ns_per_pixel) {
  state_.begin_ns = begin_ns;
  state_.ns_per_pixel = ns_per_pixel;
  fitted_.reset();
  place_cursor();
  changed();
}

void TimelineView::show_range(const TimeRange& range) {
  once_sized([this, range] {
    const double span = std::max<double>(static_cast<double>(range.end_ns - range.begin_ns), 1);
    set_view(static_cast<double>(range.begin_ns) - 0.05 * span, 1.1 * span / lanes_width(), true);
  });
}

void TimelineView::zoom(double factor, std::optional<double> around_ns) {
  const double around = around_ns ? *around_ns : focus_ns();
  const double offset = (around - state_.begin_ns) / state_.ns_per_pixel;
  const auto length = static_cast<double>(timeline().all().end_ns);
  const double next =
      std::clamp(state_.ns_per_pixel / factor, kClosest, std::max(1.2 * length / lanes_width(), kClosest));
  set_view(around - offset * next, next, false);
  settle_.start();
}

void TimelineView::pan(double pixels) {
  set_view(state_.begin_ns + pixels * state_.ns_per_pixel, state_.ns_per_pixel, false);
  settle_.start();
}

void TimelineView::fit() { show_all_of(timeline().all()); }

void TimelineView::show_all_of(const TimeRange& range) {
  const auto length = static_cast<double>(range.end_ns - range.begin_ns);
  set_view(static_cast<double>(range.begin_ns) - 0.01 * length, 1.02 * length / lanes_width(), true);
  fitted_ = range;
}

void TimelineView::go_back() {
  if (settle_.isActive()) remember();
  if (place_in_history_ == 0 || history_.empty()) return;
  const auto [begin, scale] = history_[--place_in_history_];
  set_view(begin, scale, false);
}

void TimelineView::go_forward() {
  if (place_in_history_ + 1 >= history_.size()) return;
  const auto [begin, scale] = history_[++place_in_history_];
  set_view(begin, scale, false);
}

// Times can be as large as the trace is long, so they are stored as text: JSON's numbers are doubles.
QJsonObject TimelineView::kept_state() const {
  QJsonObject state = arrangement_.state();
  QJsonArray marks;
  for (const std::int64_t mark : state_.marks) marks.append(QString::number(mark));
  state["marks"] = marks;
  state["length_ns"] = QString::number(timeline().length_ns());
  const QJsonArray seen = is_moved() ? QJsonArray{state_.begin_ns, state_.ns_per_pixel, state_.scroll} : seen_before_;
  if (!seen.isEmpty()) state["seen"] = seen;
  return state;
}

void TimelineView::restore(const QJsonObject& state) {
  arrangement_.restore(state);
  if (state["length_ns"].toString() != QString::number(timeline().length_ns())) return;
  std::vector<std::int64_t> marks;
  for (const QJsonValue& mark : state["marks"].toArray()) marks.push_back(mark.toString().toLongLong());
  set_marks(std::move(marks));
  const QJsonArray seen = state["seen"].toArray();
  if (seen.size() != 3) return;
  const auto show = [this, seen] {
    show_time(seen[0].toDouble(), seen[1].toDouble());
    scroll_bar_->setValue(seen[2].toInt());
  };
  once_sized(show);
  if (!has_size_) seen_before_ = seen;
}

// Slices keep their numbers from the part to the whole.
void TimelineView::go_on_from(const QJsonObject& lanes, const SceneState& state, bool is_moved) {
  arrangement_.restore(lanes);
  set_marks(state.marks);
  state_.range = state.range;
  if (state.selected < timeline().trace().size()) select(state.selected);
  once_sized([this, state, is_moved, had_size = has_size_] {
    if (is_moved)
      set_view(state.begin_ns, state.ns_per_pixel, true);
    else if (!had_size)
      show_all_of(timeline().opening());
    scroll_bar_->setValue(state.scroll);
    if (state.scroll == 0) scroll_to_late_rank();
  });
}

void TimelineView::select(std::uint32_t slice) {
  state_.selected = slice;
  changed();
  emit slice_selected(slice);
}

void TimelineView::go_to(std::uint32_t slice) {
  if (slice >= timeline().trace().size()) return;
  const Timeline::Place place = timeline().place_of(slice);
  if (place.lane == nullptr) return;
  const double begin = static_cast<double>(timeline().begin_ns(slice)),
               end = static_cast<double>(timeline().end_ns(slice));
  const View view = scene_.view_of(scene_size(), state_);
  const double pixels = (end - begin) / state_.ns_per_pixel;
  const bool is_seen = begin >= view.begin_ns && end <= view.end_ns() && pixels >= 3;
  if (!is_seen) {
    // Ten times as long as the slice, unless that is less than what is seen and enough of the slice is.
    const double span = pixels >= 3 && pixels < 0.8 * lanes_width() ? state_.ns_per_pixel * lanes_width()
                                                                    : std::max(10 * (end - begin), 20 * kClosest);
    set_view((begin + end) / 2 - span / 2, span / lanes_width(), true);
  }
  cursor_x_.reset();
  place_cursor();
  const int row = arrangement_.row_of(place.lane_index);
  arrangement_.reveal(row);
  scroll_to_row(row);
  select(slice);
}

std::uint32_t TimelineView::late_member() const {
  if (state_.selected >= timeline().trace().size()) return Timeline::kNoSlice;
  return scene_.links_of(state_.selected).late;
}

void TimelineView::select_neighbor(int slices, int lanes) {
  if (state_.selected >= timeline().trace().size()) {
    if (!timeline().exposed().empty()) go_to(timeline().exposed().front().slice);
    return;
  }
  const Timeline::Place place = timeline().place_of(state_.selected);
  if (place.lane == nullptr) return;
  if (lanes == 0) {
    const auto& row = place.lane->rows[place.row].slices;
    const auto at = std::ranges::find(row, state_.selected) - row.begin();
    const auto next = at + slices;
    if (next >= 0 && next < static_cast<std::ptrdiff_t>(row.size())) go_to(row[static_cast<std::size_t>(next)]);
    return;
  }
  const std::int64_t middle = (timeline().begin_ns(state_.selected) + timeline().end_ns(state_.selected)) / 2;
  for (int row = arrangement_.row_of(place.lane_index) + lanes; row >= 0 && row < arrangement_.rowCount();
       row += lanes) {
    const ArrangedLane& arranged = arrangement_.lanes()[static_cast<std::size_t>(row)];
    if (!arranged.is_visible()) continue;
    for (const LaneRow& of : timeline().lanes()[arranged.lane].rows) {
      if (of.slices.empty()) continue;
      const std::size_t at = timeline().slices_within(of, middle, middle + 1).first;
      return go_to(of.slices[std::min(at, of.slices.size() - 1)]);
    }
  }
}

void TimelineView::select_range(const std::optional<TimeRange>& range) {
  state_.range = range;
  changed();
  emit range_selected(range.has_value());
}

void TimelineView::set_marks(std::vector<std::int64_t> marks) {
  state_.marks = std::move(marks);
  changed();
}

void TimelineView::set_found(const std::vector<std::uint32_t>& slices) {
  const bool is_marked = !slices.empty() && slices.size() <= kMostMarked;
  state_.found = is_marked ? std::make_shared<FoundSlices>(timeline(), slices) : nullptr;
  changed();
}

// At the cursor, or else at the begin of what is selected; a second one at the same place takes it away.
void TimelineView::toggle_mark() {
  double at = state_.begin_ns + 0.5 * state_.ns_per_pixel * lanes_width();
  if (state_.selected < timeline().trace().size()) at = static_cast<double>(timeline().begin_ns(state_.selected));
  if (state_.cursor_ns) at = *state_.cursor_ns;
  const auto near = std::ranges::find_if(state_.marks, [&](std::int64_t mark) {
    return std::abs(static_cast<double>(mark) - at) < 4 * state_.ns_per_pixel;
  });
  if (near != state_.marks.end())
    state_.marks.erase(near);
  else
    state_.marks.push_back(std::llround(at));
  changed();
}

bool TimelineView::select_between_marks() {
  if (state_.marks.size() < 2) return false;
  const auto [first, last] = std::minmax(state_.marks.end()[-1], state_.marks.end()[-2]);
  select_range(TimeRange{first, last});
  return true;
}

void TimelineView::clear() {
  state_.marks.clear();
  select_range(std::nullopt);
  select(Timeline::kNoSlice);
}

void TimelineView::scroll_to_row(int row) {
  if (row < 0 || arrangement_.lanes()[static_cast<std::size_t>(row)].is_pinned) return;
  const int seen = lanes_height();
  for (const PlacedLane& placed : scene_.layout(scene_size().width(), state_)) {
    if (placed.row != row) continue;
    const int at = placed.where.top() - Scene::kRulers;  // below the rulers, as it is now
    if (at < 0 || at > seen - 60) scroll_bar_->setValue(state_.scroll + at - seen / 3);
  }
}

void TimelineView::scroll_to_late_rank() {
  const auto late = scene_.late_rank();
  if (late && timeline().ranks().size() >= LaneArrangement::kManyRanks)
    scroll_to_row(arrangement_.row_of(timeline().strip_place_of(*late).lane_index));
}

void TimelineView::update_scroll_bar() {
  const int seen = lanes_height();
  scroll_bar_->setPageStep(seen);
  scroll_bar_->setSingleStep(24);
  scroll_bar_->setRange(0, std::max(0, scene_.height_of_lanes() - seen + 20));
}

void TimelineView::rearranged() {
  update_scroll_bar();
  changed();
}

void TimelineView::changed() {
  is_stale_ = true;
  update();
  emit view_changed();
}

void TimelineView::paintEvent(QPaintEvent*) {
  const double scale = devicePixelRatioF();
  const QSize size = scene_size();
  const QSize pixels(static_cast<int>(std::lround(size.width() * scale)),
                     static_cast<int>(std::lround(size.height() * scale)));
  if (image_.size() != pixels) {
    image_ = QImage(pixels, QImage::Format_RGB32);
    is_stale_ = true;
  }
  if (is_stale_) {
    image_.setDevicePixelRatio(1);
    ImageSurface surface(image_, scale);
    QFont text = font();
    text.setPixelSize(std::max(1, static_cast<int>(std::lround(11.5 * scale))));
    scene_.draw(surface, size, scale, state_, palette_, text);
    is_stale_ = false;
  }
  image_.setDevicePixelRatio(scale);
  QPainter painter(this);
  painter.drawImage(0, 0, image_);
  painter.fillRect(size.width(), 0, width() - size.width(), height(), palette_.theme().surface);
  QFont small = font();
  small.setPixelSize(11);
  painter.setFont(small);
  scene_.draw_over(painter, size, state_, palette_.theme());
}

void TimelineView::resizeEvent(QResizeEvent*) {
  scroll_bar_->setGeometry(width() - kScrollBar, Scene::kRulers, kScrollBar, lanes_height());
  update_scroll_bar();
  is_stale_ = true;
  const bool is_first = !std::exchange(has_size_, true);
  seen_before_ = {};
  if (const auto wanted = std::exchange(when_sized_, nullptr)) return wanted();
  if (!fitted_ && !history_.empty()) return;
  history_.clear();
  place_in_history_ = 0;
  show_all_of(fitted_.value_or(timeline().opening()));
  if (is_first) scroll_to_late_rank();
}

}  // namespace underlap::viewer
