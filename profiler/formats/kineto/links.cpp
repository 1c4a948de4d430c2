// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// The last slice of the thread that begins at the time or before and has not ended before it. Fails when more than 64
// later ones have ended: the arrow is then dropped.
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

// The work of one stream.
struct WorkOfStream {
  std::vector<std::uint32_t> by_call;  ///< in the order of the calls that launched it
  std::vector<std::uint32_t> by_end;
};

class WaitJoiner {
 public:
  explicit WaitJoiner(KinetoParts& parts) : trace_(parts.trace), call_ns_(parts.trace.size(), kNoCall) {
    for (const Flow& flow : trace_.flows)
      if (flow.kind == FlowKind::launch) call_ns_[flow.to] = trace_.start_ns()[flow.from];
    for (const KinetoLink& call : parts.calls) calls_.emplace(call.id, call.slice);
    for (std::uint32_t i = 0; i < trace_.size(); ++i) {
      if (!trace_.is_work(i)) continue;
      WorkOfStream& stream = streams_[key_of(trace_.track_of(i), trace_.track_of(i).stream)];
      if (call_ns_[i] != kNoCall) stream.by_call.push_back(i);
      stream.by_end.push_back(i);
    }
    for (auto& [key, stream] : streams_) {
      std::ranges::stable_sort(stream.by_call, {}, [&](std::uint32_t i) { return call_ns_[i]; });
      std::ranges::stable_sort(stream.by_end, {}, [&](std::uint32_t i) { return trace_.end_ns(i); });
    }
  }

  // "cat": "cuda_sync", "name": "Stream Wait Event",
  // "args": {"stream": 20, "wait_on_stream": 7, "correlation": 4, "wait_on_cuda_event_record_corr_id": 2}
  void join(const KinetoWait& wait) {
    const auto stream = streams_.find(key_of(trace_.track_of(wait.slice), wait.awaited_stream));
    if (stream == streams_.end()) return;
    const auto record = calls_.find(wait.record_id);
    const auto from = record == calls_.end() ? last(stream->second.by_end, trace_.end_ns(wait.slice) + 1,
                                                    [&](std::uint32_t i) { return trace_.end_ns(i); })
                                             : last(stream->second.by_call, trace_.start_ns()[record->second],
                                                    [&](std::uint32_t i) { return call_ns_[i]; });
    if (from) trace_.flows.push_back({*from, wait.slice, FlowKind::dependency});
  }

 private:
  static constexpr std::int64_t kNoCall = INT64_MIN;

  static std::pair<std::int32_t, std::int32_t> key_of(const Track& track, std::int32_t stream) {
    return {track.device, stream};
  }

  // The last one whose `time` is before a moment.
  template <class Time>
  static std::optional<std::uint32_t> last(const std::vector<std::uint32_t>& slices, std::int64_t before, Time time) {
    const auto next = std::ranges::lower_bound(slices, before, {}, time);
    return next == slices.begin() ? std::nullopt : std::optional(*std::prev(next));
  }

  Trace& trace_;
  std::vector<std::int64_t> call_ns_;  ///< by slice: the start of the call that launched it
  std::map<std::int64_t, std::uint32_t> calls_;
  std::map<std::pair<std::int32_t, std::int32_t>, WorkOfStream> streams_;  ///< by device and number
};

}  // namespace

void join_waits(KinetoParts& parts) {
  if (parts.waits.empty()) return;
  WaitJoiner joiner(parts);
  for (const KinetoWait& wait : parts.waits) joiner.join(wait);
}

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
