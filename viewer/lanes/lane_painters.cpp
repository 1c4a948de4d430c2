// SPDX-License-Identifier: Apache-2.0
#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

int height_of_row(LaneKind kind, bool is_collapsed) {
  constexpr int kCollapsed = 13;
  switch (kind) {
    case LaneKind::strip: return 18;
    case LaneKind::stream: return is_collapsed ? kCollapsed : 19;
    case LaneKind::counter: return is_collapsed ? kCollapsed : 28;
    case LaneKind::thread:
    case LaneKind::range: break;
  }
  return is_collapsed ? kCollapsed : 15;
}

int height_of(const Lane& lane, bool is_collapsed) {
  const auto rows = is_collapsed ? 1 : std::max(1, static_cast<int>(lane.rows.size()));
  return rows * height_of_row(lane.kind, is_collapsed);
}

void paint_lane(const Lane& lane, const QRect& where, bool is_collapsed, const LaneContext& context) {
  switch (lane.kind) {
    case LaneKind::strip: return paint_strip(lane, where, context);
    case LaneKind::stream: return paint_stream(lane, where, is_collapsed, context);
    case LaneKind::counter: return paint_counter(lane, where, context);
    case LaneKind::thread:
    case LaneKind::range: return paint_nested(lane, where, is_collapsed, context);
  }
}

}  // namespace underlap::viewer
