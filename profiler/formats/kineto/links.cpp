// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "profiler/formats/kineto/parts.hpp"

namespace underlap::formats {
namespace {

// By id, and of one id by start.
void sort(const Trace& trace, std::vector<KinetoLink>& links) {
  const auto is_before = [&](const KinetoLink& a, const KinetoLink& b) {
    if (a.id != b.id) return a.id < b.id;
    const std::int64_t a_start = trace.start_ns()[a.slice], b_start = trace.start_ns()[b.slice];
    return a_start != b_start ? a_start < b_start : a.slice < b.slice;
  };
  if (!std::is_sorted(links.begin(), links.end(), is_before)) std::sort(links.begin(), links.end(), is_before);
}

// Of the calls of one correlation, the last that begins before the work; where there is none, the first.
std::uint32_t call_of(const Trace& trace, std::span<const KinetoLink> calls, std::uint32_t work) {
  const auto later = std::upper_bound(
      calls.begin(), calls.end(), trace.start_ns()[work],
      [&](std::int64_t start, const KinetoLink& call) { return start < trace.start_ns()[call.slice]; });
  return later == calls.begin() ? later->slice : std::prev(later)->slice;
}

void join_by_correlation(KinetoParts& parts) {
  sort(parts.trace, parts.calls);
  sort(parts.trace, parts.work);
  parts.trace.flows.reserve(parts.work.size());
  auto first = parts.calls.begin(), last = first;  // calls of the correlation
  for (const KinetoLink& work : parts.work) {
    while (first != parts.calls.end() && first->id < work.id) ++first;
    last = std::max(first, last);
    while (last != parts.calls.end() && last->id == work.id) ++last;
    if (first != last) parts.trace.flows.push_back({call_of(parts.trace, {first, last}, work.slice), work.slice});
  }
}

using Thread = std::pair<KinetoId, KinetoId>;
using SlicesOfThread = std::vector<std::pair<std::int64_t, std::uint32_t>>;

// Slices of the threads and streams that arrows point at, by start.
std::map<Thread, SlicesOfThread> slices_by_thread(const KinetoParts& parts) {
  std::map<Thread, SlicesOfThread> slices;
  for (const auto& [lane, of] : parts.lane_of_points) slices[{of.pid, of.tid}];
  std::vector<SlicesOfThread*> of_track;
  for (const KinetoLane& lane : parts.lane_of_track) {
    const auto found = slices.find({lane.pid, lane.tid});
    of_track.push_back(found == slices.end() ? nullptr : &found->second);
  }
  for (std::size_t i = 0; i < parts.trace.size(); ++i)
    if (SlicesOfThread* const list = of_track[parts.trace.track(i)])
      list->emplace_back(parts.trace.start_ns()[i], static_cast<std::uint32_t>(i));
  for (auto& [thread, list] : slices) std::sort(list.begin(), list.end());
  return slices;
}

// The last slice of the thread that begins at the time or before and has not ended before it.
std::optional<std::uint32_t> slice_at(const Trace& trace, const SlicesOfThread& slices, std::int64_t time_ns) {
  constexpr int kMostNested = 64;
  auto at = std::upper_bound(slices.begin(), slices.end(), std::pair(time_ns, ~std::uint32_t{0}));
  for (int tries = 0; at != slices.begin() && tries < kMostNested; ++tries) {
    --at;
    if (trace.end_ns(at->second) >= time_ns) return at->second;
  }
  return std::nullopt;
}

void join_by_arrows(KinetoParts& parts) {
  const auto slices = slices_by_thread(parts);
  auto& points = parts.flow_points;
  const auto key = [](const KinetoFlowPoint& p) { return std::tuple(p.kind, p.id, !p.is_start, p.time_ns); };
  std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t from = kNone;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const KinetoFlowPoint& point = points[i];
    if (i == 0 || points[i - 1].id != point.id || points[i - 1].kind != point.kind) from = kNone;
    const KinetoLane& lane = parts.lane_of_points.at(point.lane);
    const auto slice = slice_at(parts.trace, slices.at({lane.pid, lane.tid}), point.time_ns);
    if (point.is_start)
      from = slice.value_or(kNone);
    else if (from != kNone && slice)
      parts.trace.flows.push_back({from, *slice, point.kind});
  }
}

}  // namespace

void join_launches(KinetoParts& parts) {
  join_by_correlation(parts);
  if (!parts.flow_points.empty()) join_by_arrows(parts);
  const Trace& trace = parts.trace;
  const auto early = std::count_if(trace.flows.begin(), trace.flows.end(), [&](const Flow& flow) {
    return flow.kind == FlowKind::launch && trace.start_ns()[flow.to] < trace.start_ns()[flow.from];
  });
  if (early > 0) parts.trace.metadata["work_before_its_launch"] = std::to_string(early);
}

}  // namespace underlap::formats
