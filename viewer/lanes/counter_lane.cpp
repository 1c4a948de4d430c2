// SPDX-License-Identifier: Apache-2.0
// A value over time, as steps; the largest and the smallest of a pixel both stay.
//        __
//   |  _|  |____|
#include <cmath>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {
namespace {

std::int64_t time_at(const View& view, int x) {
  constexpr double kFarthest = 9e18;
  return static_cast<std::int64_t>(std::ceil(std::clamp(view.time_of(x), -kFarthest, kFarthest)));
}

}  // namespace

void paint_counter(const Lane& lane, const QRect& where, const LaneContext& context) {
  const CounterSeries& values = lane.values;
  const ValueRange all = values.range(0, values.size());
  if (all.is_empty()) return;
  const auto y_of = [&](double value) {
    const double share = all.most > all.least ? (value - all.least) / (all.most - all.least) : 0.5;
    return where.bottom() - static_cast<int>(std::lround(share * (where.height() - 2)));
  };
  const QRgb color = context.palette.theme().dim_text.rgb();
  std::size_t next = values.first_at(time_at(context.view, 0));
  for (int x = 0; x < where.width(); ++x) {
    const std::size_t from = next;
    next = values.first_at(time_at(context.view, x + 1));
    ValueRange shown = values.range(from, next);
    if (from > 0) shown.take({values.value(from - 1), values.value(from - 1)});  // which holds until the first of these
    if (shown.is_empty()) continue;
    const int top = y_of(shown.most);
    context.surface.fill({where.left() + x, top, 1, y_of(shown.least) - top + 1}, color);
  }
}

}  // namespace underlap::viewer
