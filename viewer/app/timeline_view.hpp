// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QJsonArray>
#include <QJsonObject>
#include <QTimer>
#include <QWidget>
#include <functional>

#include "viewer/model/document.hpp"
#include "viewer/model/lane_arrangement.hpp"
#include "viewer/scene/scene.hpp"

class QScrollBar;

namespace underlap::viewer {

/// A timeline in a window. It never changes the trace.
class TimelineView : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineView(std::shared_ptr<const TraceDocument> document);

  const TraceDocument& document() const { return *document_; }
  const Timeline& timeline() const { return *document_->timeline; }
  LaneArrangement& arrangement() { return arrangement_; }
  const SceneState& state() const { return state_; }
  const Palette& palette() const { return palette_; }
  /// Pixels in which time is seen, right of the names.
  int lanes_width() const;
  /// Whether the user moved the view away from the whole trace or from its first view.
  bool is_moved() const { return has_size_ && !fitted_; }

  void set_theme(const Theme&);
  void set_ghost(std::optional<Ghost>);
  void set_legend(bool has_legend);
  /// The moment that the ruler counts from.
  void set_origin(std::int64_t origin_ns);

  /// What is seen of time; kept within what there is, and remembered.
  void show_time(double begin_ns, double ns_per_pixel);
  /// The same time as in another view: not limited to this trace, and not added to the history.
  void follow_time(double begin_ns, double ns_per_pixel);
  /// A part of time, with room at both sides.
  void show_range(const TimeRange&);
  /// Around a moment; without one around the mouse, or the slice that was gone to since it moved.
  void zoom(double factor, std::optional<double> around_ns = {});
  void pan(double pixels);
  void fit();
  /// The view before, or after: those that were jumped to, and those where zooming and panning paused.
  void go_back();
  void go_forward();

  /// How a person left it (lanes, marks, the part of time that was seen), and back. What was seen of a trace of another
  /// length stays away.
  QJsonObject kept_state() const;
  void restore(const QJsonObject& state);
  /// Applies the state of another view of the same trace, or of a part of it.
  void go_on_from(const QJsonObject& lanes, const SceneState& state, bool is_moved);

  void select(std::uint32_t slice);
  /// Selects a slice and brings it into view.
  void go_to(std::uint32_t slice);
  /// Of the selected communication the member that the others waited for; Timeline::kNoSlice where none came later.
  std::uint32_t late_member() const;
  /// The slice before or after on its lane; the lane above or below at the same time.
  void select_neighbor(int slices, int lanes);
  void select_range(const std::optional<TimeRange>&);
  void set_marks(std::vector<std::int64_t>);
  /// Marks what a search found, unless that is more than kMostMarked.
  void set_found(const std::vector<std::uint32_t>& slices);
  static constexpr std::size_t kMostMarked = 200'000;
  void toggle_mark();
  /// Selects the range between the two that were set last; false where there are none.
  bool select_between_marks();
  void clear();

  QSize sizeHint() const override { return {1200, 600}; }

 signals:
  void slice_selected(std::uint32_t slice);
  void menu_wanted(std::uint32_t slice, const QPoint& global);  ///< for a slice
  void range_selected(bool is_any);
  void view_changed();

 protected:
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void wheelEvent(QWheelEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void mouseMoveEvent(QMouseEvent*) override;
  void mouseReleaseEvent(QMouseEvent*) override;
  void mouseDoubleClickEvent(QMouseEvent*) override;
  void contextMenuEvent(QContextMenuEvent*) override;
  void leaveEvent(QEvent*) override;
  bool event(QEvent*) override;

 private:
  enum class Drag { none, pan, range, lane };

  QSize scene_size() const;
  int lanes_height() const;  ///< that is seen, below the rulers and above the legend
  double time_at(int x) const;
  void set_view(double begin_ns, double ns_per_pixel, bool is_jump);
  void show_all_of(const TimeRange&);
  void once_sized(std::function<void()> show);  ///< shows something as soon as the view has a size
  void place_cursor();
  double focus_ns() const;
  void remember();
  void scroll_to_row(int row);
  void scroll_to_late_rank();  ///< so that it is seen among many ranks
  void update_scroll_bar();
  void changed();
  void rearranged();  ///< the same where the height of all lanes may have changed
  void drag_lane(const QPoint& at);
  void click_name(const PlacedLane&);
  void zoom_to(const Scene::Hit&);
  QString tooltip_of(const Scene::Hit&) const;

  std::shared_ptr<const TraceDocument> document_;
  LaneArrangement arrangement_{timeline()};
  Scene scene_{timeline(), document_->traced.summary, arrangement_};
  SceneState state_;
  Palette palette_{Theme::light()};
  QScrollBar* scroll_bar_;
  QImage image_;
  bool is_stale_ = true;              ///< the image is of another state
  std::optional<TimeRange> fitted_;   ///< what fills the window, also of another size
  bool has_size_ = false;             ///< of the window, which what is seen depends on
  std::function<void()> when_sized_;  ///< what was wanted before it had a size
  QJsonArray seen_before_;            ///< what was restored of what was seen, until it has a size
  Drag drag_ = Drag::none;
  QPoint pressed_at_;
  QPoint dragged_to_;
  std::optional<int> cursor_x_;  ///< of the mouse, unless a slice was gone to since it moved
  bool has_dragged_ = false;
  std::size_t dragged_lane_ = 0;
  QTimer settle_;                                   ///< runs while zooming and panning has not paused yet
  std::vector<std::pair<double, double>> history_;  ///< begin and nanoseconds a pixel
  std::size_t place_in_history_ = 0;
};

}  // namespace underlap::viewer
