// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/slowdown.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "platform/numbers/median.hpp"
#include "profiler/analysis/details/trace_details.hpp"

namespace underlap::viewer {
namespace {

// The time of a compute slice during communication. While a kernel runs, its rank's strip shows whether something
// communicates.
std::int64_t beside_ns(const Timeline& timeline, const Segments& strip, std::uint32_t slice) {
  const std::int64_t begin = timeline.begin_ns(slice), end = timeline.end_ns(slice);
  std::int64_t beside = 0;
  for (std::size_t i = strip.first_ending_after(begin); i < strip.size() && strip.begin_ns(i) < end; ++i)
    if (strip.shade(i).paint == Paint::hidden)
      beside += std::min(strip.end_ns(i), end) - std::max(strip.begin_ns(i), begin);
  return beside;
}

}  // namespace

std::optional<Slowdown> slowdown_of(const Timeline& timeline, std::uint32_t slice) {
  const Trace& trace = timeline.trace();
  if (trace.tag(slice).kind != Kind::compute) return std::nullopt;
  const std::int32_t rank = trace.track_of(slice).rank;
  const Segments& strip = timeline.strip_of(rank);
  Slowdown slowdown{.beside_ns = beside_ns(timeline, strip, slice)};
  if (2 * slowdown.beside_ns < trace.duration_ns()[slice] || slowdown.beside_ns == 0) return std::nullopt;
  const analysis::Launch launch = analysis::launch_of(trace, slice);
  std::vector<double> alone;
  for (const Lane& lane : timeline.lanes()) {
    if (lane.rank != rank || lane.kind != LaneKind::stream) continue;
    for (const LaneRow& row : lane.rows)
      for (const std::uint32_t i : row.slices)
        if (trace.name(i) == launch.name && trace.tag(i).kind == Kind::compute && trace.duration_ns()[i] > 0 &&
            analysis::launch_of(trace, i) == launch && beside_ns(timeline, strip, i) == 0)
          alone.push_back(static_cast<double>(trace.duration_ns()[i]));
  }
  slowdown.num_alone = static_cast<std::int64_t>(alone.size());
  slowdown.median_alone_ns = median(alone);
  return slowdown;
}

}  // namespace underlap::viewer
