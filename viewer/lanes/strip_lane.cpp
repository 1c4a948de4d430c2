// SPDX-License-Identifier: Apache-2.0
// A rank at a glance, idle time and all.
//   |####====####!!!!.##|   compute, hidden, compute, exposed (in the color of its mode; hatched while it waits), idle
#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

void paint_strip(const Lane& lane, const QRect& where, const LaneContext& context) {
  if (lane.rows.empty()) return;
  find_pieces(lane.rows.front().segments, context.view, context.row.pieces);
  paint_pieces(where, context.palette.theme().idle.rgb(), context);
}

}  // namespace underlap::viewer
