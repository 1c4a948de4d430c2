// SPDX-License-Identifier: Apache-2.0
// Calls of a thread or ranges: each row is within the one above it. Collapsed, the outermost alone.
//   |[ iteration 12                ]|
//   |[ forward     ][ backward ]    |
#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

void paint_nested(const Lane& lane, const QRect& where, bool is_collapsed, const LaneContext& context) {
  if (!is_collapsed) return paint_rows(lane, where, context);
  if (lane.rows.empty()) return;
  const int above = (where.height() - 1) / 4;
  find_pieces(lane.rows.front().segments, context.view, context.row.pieces);
  paint_pieces(where.adjusted(0, above, 0, -1 - above), context.palette.background(), context);
}

}  // namespace underlap::viewer
