// SPDX-License-Identifier: Apache-2.0
// A value over time, as steps; the largest and the smallest of a pixel both stay.
//        __
//   |  _|  |____|
#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {
namespace {

struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool empty() const { return low > high; }
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Bounds bounds_of(const Trace& trace, std::uint32_t track) {
  Bounds bounds;
  for (const CounterSample& sample : trace.counters)
    if (sample.track == track) bounds.take(sample.value);
  return bounds;
}

}  // namespace

void paint_counter(const Lane& lane, const QRect& where, const LaneContext& context) {
  const Trace& trace = context.timeline.trace();
  const auto track = static_cast<std::uint32_t>(lane.track);
  const Bounds all = bounds_of(trace, track);
  if (all.empty()) return;
  const auto y_of = [&](double value) {
    const double share = all.high > all.low ? (value - all.low) / (all.high - all.low) : 0.5;
    return where.bottom() - static_cast<int>(std::lround(share * (where.height() - 2)));
  };
  const QRgb colour = context.palette.theme().dim_text.rgb();
  int x = 0;
  std::optional<double> last;
  for (const CounterSample& sample : trace.counters) {
    if (sample.track != track) continue;
    const double at = context.view.x_of(static_cast<double>(context.timeline.time_of(lane.rank, sample.time_ns)));
    const int next = static_cast<int>(std::clamp(at, 0.0, static_cast<double>(where.width())));
    const int y = y_of(sample.value);
    if (last) {
      const int from = y_of(*last);
      context.surface.fill({where.left() + x, from, std::max(next - x, 1), 1}, colour);
      context.surface.fill({where.left() + next, std::min(from, y), 1, std::abs(from - y) + 1}, colour);
    }
    last = sample.value;
    x = next;
  }
  if (last) context.surface.fill({where.left() + x, y_of(*last), where.width() - x, 1}, colour);
}

}  // namespace underlap::viewer
