// SPDX-License-Identifier: Apache-2.0
// Calls of a thread or ranges: each row is within the one above it. Collapsed, the outermost alone.
//   |[ iteration 12                ]|
//   |[ forward     ][ backward ]    |
#include <algorithm>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

void paint_nested(const Lane& lane, const QRect& where, bool is_collapsed, const LaneContext& context) {
  const auto rows = static_cast<int>(is_collapsed ? std::min<std::size_t>(1, lane.rows.size()) : lane.rows.size());
  for (int i = 0; i < rows; ++i) {
    QRect row{where.left(), where.top() + i * where.height() / rows, where.width(), where.height() / rows - 1};
    if (is_collapsed) row.adjust(0, row.height() / 4, 0, -row.height() / 4);
    find_pieces(lane.rows[static_cast<std::size_t>(i)].segments, context.view, context.pieces);
    paint_pieces(row, context.palette.background(), context);
    if (!is_collapsed && context.has_text) write_labels(lane.rows[static_cast<std::size_t>(i)], row, context);
  }
}

}  // namespace underlap::viewer
