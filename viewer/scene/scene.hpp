// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QPoint>
#include <QRect>
#include <QSize>
#include <QString>
#include <memory>
#include <optional>

#include "profiler/analysis/trace_summary.hpp"
#include "viewer/lanes/palette.hpp"
#include "viewer/lanes/surface.hpp"
#include "viewer/model/lane_arrangement.hpp"
#include "viewer/scene/legend.hpp"
#include "viewer/timeline/found_slices.hpp"
#include "viewer/timeline/pieces.hpp"
#include "viewer/timeline/timeline.hpp"

class QPainter;

namespace underlap::viewer {

struct LaneContext;

/// What a picture of a timeline shows, and what is marked in it. Pixels are those of a plain screen.
struct SceneState {
  double begin_ns = 0;
  double ns_per_pixel = 1;
  int scroll = 0;  ///< pixels that have gone out at the top of the lanes that are not pinned
  std::uint32_t selected = Timeline::kNoSlice;
  std::optional<TimeRange> range;
  std::vector<std::int64_t> marks;
  std::shared_ptr<const FoundSlices> found;  ///< by a search, to be marked; null: none
  std::optional<double> cursor_ns;
  std::int64_t origin_ns = 0;  ///< what the ruler and marks count from
  bool has_text = true;
  bool has_legend = false;

  friend bool operator==(const SceneState&, const SceneState&) = default;
};

/// Another trace below each lane: the baseline of a comparison.
struct Ghost {
  const Timeline* timeline = nullptr;
  std::int64_t shift_ns = 0;  ///< added to its times
};

/// An arrow between two slices.
struct Arrow {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool waits_for_end = false;  ///< `to` waits until `from` ends, not until it begins
};

/// What leads to a slice and away from it.
struct Links {
  std::vector<Arrow> arrows;
  std::uint32_t late = Timeline::kNoSlice;  ///< of the communication's members that which the others waited for
  bool is_late = false;                     ///< whether that wait is a notable part of their exposed time
};

/// A lane in the picture.
struct PlacedLane {
  std::size_t lane = 0;
  int row = 0;  ///< of the arrangement
  bool is_collapsed = false;
  QRect where;  ///< names and all
};

/// A timeline as a picture: rulers at the top, names at the left, lanes below each other. It holds no pixels, and draws
/// the same into a window, an image and a vector file.
class Scene {
 public:
  static constexpr int kNames = 218;  ///< width of the names, pixels of a plain screen
  static constexpr int kRulers = 42;  ///< height of the rulers
  static constexpr int kLegend = 20;  ///< height of the legend below the lanes

  Scene(const Timeline&, const analysis::Summary&, const LaneArrangement&);

  void set_ghost(std::optional<Ghost>);

  /// Height of all lanes that are not pinned.
  int height_of_lanes() const;
  /// All lanes that are shown, in sight or scrolled out of it, the pinned ones first.
  std::vector<PlacedLane> layout(int width, const SceneState&) const;
  /// Those of them that are seen in a picture of that size.
  std::vector<PlacedLane> place(const QSize& size, const SceneState&) const;
  /// The part of time that is seen, `scale` pixels to one of a plain screen.
  View view_of(const QSize& size, const SceneState&, double scale = 1) const;

  /// What lies at a place of a picture.
  struct Hit {
    std::optional<PlacedLane> lane;
    std::uint32_t slice = Timeline::kNoSlice;
    bool is_on_name = false;
    double time_ns = 0;
  };
  Hit hit(const QPoint& at, const QSize& size, const SceneState&) const;

  /// Draws a picture of `size` * `scale` pixels.
  void draw(Surface&, const QSize& size, double scale, const SceneState&, const Palette&, const QFont&) const;
  /// What lies over it: arrows of the selected slice, the range, marks. In pixels of a plain screen.
  void draw_over(QPainter&, const QSize& size, const SceneState&, const Theme&) const;

  /// What leads to a slice and away from it.
  const Links& links_of(std::uint32_t slice) const;
  /// The rank that is marked as late.
  std::optional<std::int32_t> late_rank() const { return late_rank_; }

 private:
  int height_of(const ArrangedLane&) const;
  bool is_pinned(const PlacedLane&) const;
  /// Where lanes end: above the legend, if there is one.
  static int bottom_of(const QSize& size, const SceneState& state) {
    return size.height() - (state.has_legend ? kLegend : 0);
  }
  void draw_lanes(Surface&, const std::vector<PlacedLane>&, const View&, double scale, const SceneState&,
                  const Palette&) const;
  void draw_lane(Surface&, const PlacedLane&, const View&, double scale, const SceneState&, const Palette&) const;
  void draw_names(Surface&, const std::vector<PlacedLane>&, double scale, const Palette&) const;
  /// Whether there was room for it.
  bool draw_name(Surface&, const PlacedLane&, bool names_rank, double scale, const Palette&) const;
  void draw_ghost(const PlacedLane&, const QRect& where, const LaneContext& of_lane) const;
  /// Where a slice lies, also where that is out of sight: on the strip of its rank where its lane is folded, nothing
  /// where its lane is hidden.
  std::optional<QRect> rect_of(std::uint32_t slice, const std::vector<PlacedLane>& layout, const QSize&,
                               const SceneState&) const;
  void draw_found(QPainter&, const QSize&, const SceneState&, const Theme&) const;
  void draw_arrows(QPainter&, const QSize&, const SceneState&, const Theme&) const;

  const Timeline& timeline_;
  const analysis::Summary& summary_;
  const LaneArrangement& arrangement_;
  std::optional<Ghost> ghost_;
  std::map<std::size_t, std::size_t> ghost_lanes_;  ///< of lanes their counterparts in the ghost
  LegendContent legend_;
  std::optional<std::int32_t> late_rank_;
  std::map<std::int32_t, QString> rank_notes_;  ///< text next to the name of a rank
  /// The links of the last selected slice: finding them visits all flows, which is too slow for each frame.
  mutable std::uint32_t linked_slice_ = Timeline::kNoSlice;
  mutable Links links_;
};

}  // namespace underlap::viewer
