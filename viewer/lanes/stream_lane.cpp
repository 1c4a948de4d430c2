// SPDX-License-Identifier: Apache-2.0
// The work of one stream; slices that overlap lie in rows below each other.
//   |[ fc1_fprop ][==== all_gather !!!!]|   of communication the hidden part is pale
#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

namespace {

// All rows over each other.
void paint_collapsed(const Lane& lane, const QRect& where, const LaneContext& context) {
  context.row.begin(where.width(), context.palette.background());
  for (const LaneRow& row : lane.rows) {
    find_pieces(context.timeline, lane, row, context.view, context.row.pieces);
    context.row.add_pieces(where.height(), context);
  }
  context.surface.draw_columns(where, context.row.columns);
}

}  // namespace

void paint_stream(const Lane& lane, const QRect& where, bool is_collapsed, const LaneContext& context) {
  if (is_collapsed) return paint_collapsed(lane, where, context);
  paint_rows(lane, where, context);
}

void paint_rows(const Lane& lane, const QRect& where, const LaneContext& context) {
  const auto rows = static_cast<int>(lane.rows.size());
  for (int i = 0; i < rows; ++i) {
    const LaneRow& row = lane.rows[static_cast<std::size_t>(i)];
    const QRect below{where.left(), where.top() + i * where.height() / rows, where.width(), where.height() / rows - 1};
    find_pieces(context.timeline, lane, row, context.view, context.row.pieces);
    paint_pieces(below, context.palette.background(), context);
    if (context.has_text) write_labels(row, below, context);
  }
}

}  // namespace underlap::viewer
