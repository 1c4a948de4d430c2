// SPDX-License-Identifier: Apache-2.0
#include "profiler/page/timeline_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/steps/shown_step.hpp"

namespace underlap::page {
namespace {

using analysis::Communications, analysis::Interval, analysis::IntervalSet, analysis::Window;

constexpr std::size_t kMostLanes = 128;
constexpr std::int64_t kWidestMerge = 4;  ///< in units of the resolution: gaps and density stay visible

// Half of the ranks with the least exposed time, where a straggler is, and half with the most.
std::vector<Window> shown_windows(const Trace& trace, std::vector<Window> windows, std::size_t most) {
  if (windows.size() <= most) return windows;
  const std::vector<analysis::Split> splits = analysis::split_windows(trace, windows);
  std::vector<std::size_t> order(windows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return splits[i].exposed_ns(); });
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(most - most / 2),
              order.end() - static_cast<std::ptrdiff_t>(most / 2));
  std::ranges::sort(order);
  std::vector<Window> shown;
  for (const std::size_t i : order) shown.push_back(windows[i]);
  return shown;
}

Interval cut(const Trace& trace, std::size_t slice, const Window& window) {
  return {std::max(trace.start_ns()[slice], window.begin_ns), std::min(trace.end_ns(slice), window.end_ns)};
}

/// Sorts the pieces of one stream into groups.
class LaneBuilder {
 public:
  /// `shift_ns`: from the rank's clock to the axis.
  LaneBuilder(const Trace& trace, std::int64_t shift_ns) : trace_(trace), shift_ns_(shift_ns) {}

  void add(std::size_t slice, const Window& window, const IntervalSet& compute) {
    const Interval active = cut(trace_, slice, window);
    if (active.length() <= 0) return;
    switch (trace_.tag(slice).kind) {
      case Kind::compute: put(Look::compute, Mode::none, active, slice); break;
      case Kind::copy: put(Look::copy, Mode::none, active, slice); break;
      case Kind::communication: add_communication(slice, active, compute); break;
      case Kind::none: break;
    }
  }

  std::vector<LanePieces> groups() {
    std::vector<LanePieces> groups;
    for (auto& [look, pieces] : pieces_) {
      std::ranges::stable_sort(pieces, {}, &LanePiece::begin_ns);
      groups.push_back({look.first, look.second, std::move(pieces)});
    }
    return groups;
  }

 private:
  void put(Look look, Mode mode, const Interval& at, std::size_t slice) {
    if (at.length() > 0)
      pieces_[{look, mode}].push_back(
          {at.begin + shift_ns_, at.end + shift_ns_, at.length(), static_cast<std::uint32_t>(slice)});
  }

  void add_communication(std::size_t slice, const Interval& active, const IntervalSet& compute) {
    const Mode mode = trace_.tag(slice).mode;
    const std::span<const Interval> all = compute.intervals();
    std::int64_t from = active.begin;
    for (auto next = std::ranges::upper_bound(all, active.begin, {}, &Interval::end);
         next != all.end() && next->begin < active.end; ++next) {
      add_exposed(slice, {from, next->begin});
      from = std::min(next->end, active.end);
      put(Look::hidden, mode, {std::max(next->begin, active.begin), from}, slice);
    }
    add_exposed(slice, {from, active.end});
  }

  void add_exposed(std::size_t slice, const Interval& exposed) {
    const Mode mode = trace_.tag(slice).mode;
    const CommunicationRecord* record = trace_.communication(slice);
    if (record == nullptr || record->last_arrival_ns == -1) return put(Look::exposed, mode, exposed, slice);
    if (exposed.length() <= 0) return;
    const std::int64_t arrival = std::clamp(record->last_arrival_ns, exposed.begin, exposed.end);
    put(Look::exposed_wait, mode, {exposed.begin, arrival}, slice);
    put(Look::exposed_transfer, mode, {arrival, exposed.end}, slice);
  }

  const Trace& trace_;
  std::int64_t shift_ns_;
  std::map<std::pair<Look, Mode>, std::vector<LanePiece>> pieces_;
};

using SlicesOfTrack = std::map<std::uint32_t, std::vector<std::uint32_t>>;

// The slices of work in the windows, by track.
SlicesOfTrack slices_by_track(const Trace& trace, std::span<const Window> windows) {
  std::map<std::int32_t, const Window*> window_of;
  for (const Window& window : windows) window_of[window.rank] = &window;
  std::vector<const Window*> of_track;
  for (const Track& track : trace.tracks) {
    const auto found = window_of.find(track.rank);
    of_track.push_back(found == window_of.end() ? nullptr : found->second);
  }
  SlicesOfTrack slices;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Window* window = of_track[trace.track(i)];
    if (window != nullptr && trace.is_work(i) && cut(trace, i, *window).length() > 0)
      slices[trace.track(i)].push_back(static_cast<std::uint32_t>(i));
  }
  return slices;
}

IntervalSet compute_of(const Trace& trace, const Window& window, const SlicesOfTrack& slices) {
  std::vector<Interval> compute;
  for (const auto& [track, of_track] : slices)
    if (trace.tracks[track].rank == window.rank)
      for (const std::uint32_t i : of_track)
        if (trace.tag(i).kind == Kind::compute) compute.push_back(cut(trace, i, window));
  return IntervalSet(std::move(compute));
}

std::vector<Lane> lanes_of(const Trace& trace, std::span<const Window> windows,
                           const std::function<std::int64_t(std::int32_t)>& shift_of_rank) {
  const SlicesOfTrack slices = slices_by_track(trace, windows);
  std::vector<Lane> lanes;
  for (const Window& window : windows) {
    const IntervalSet compute = compute_of(trace, window, slices);
    std::vector<std::uint32_t> tracks;
    for (const auto& [track, of_track] : slices)
      if (trace.tracks[track].rank == window.rank) tracks.push_back(track);
    std::ranges::stable_sort(tracks, {}, [&](std::uint32_t track) { return trace.tracks[track].stream; });
    for (const std::uint32_t track : tracks) {
      LaneBuilder builder(trace, shift_of_rank(window.rank));
      for (const std::uint32_t slice : slices.at(track)) builder.add(slice, window, compute);
      lanes.push_back(
          {window.rank, fmt::format("rank {} {}", window.rank, trace.tracks[track].name), builder.groups()});
    }
  }
  return lanes;
}

std::int64_t busy_ns(const Lane& lane) {
  std::int64_t sum = 0;
  for (const LanePieces& group : lane.groups)
    for (const LanePiece& piece : group.pieces) sum += piece.busy_ns;
  return sum;
}

// Returns how many lanes went.
std::size_t drop_idle_lanes(std::vector<Lane>& lanes) {
  if (lanes.size() <= kMostLanes) return 0;
  std::vector<std::pair<std::int64_t, std::size_t>> busiest;
  for (std::size_t i = 0; i < lanes.size(); ++i) busiest.emplace_back(busy_ns(lanes[i]), i);
  std::ranges::sort(busiest, std::ranges::greater{});
  busiest.resize(kMostLanes);
  std::set<std::size_t> kept;
  for (const auto& [ns, i] : busiest) kept.insert(i);
  std::vector<Lane> left;
  for (const std::size_t i : kept) left.push_back(std::move(lanes[i]));
  const std::size_t dropped = lanes.size() - left.size();
  lanes = std::move(left);
  return dropped;
}

std::vector<LanePiece> merged(const std::vector<LanePiece>& pieces, std::int64_t resolution_ns) {
  std::vector<LanePiece> out;
  bool is_last_short = false;
  for (const LanePiece& piece : pieces) {
    const bool is_short = piece.end_ns - piece.begin_ns < resolution_ns;
    if (is_short && is_last_short && piece.begin_ns - out.back().end_ns < resolution_ns &&
        piece.end_ns - out.back().begin_ns < kWidestMerge * resolution_ns) {
      LanePiece& last = out.back();
      last.end_ns = std::max(last.end_ns, piece.end_ns);
      last.busy_ns += piece.busy_ns;
      ++last.count;
    } else {
      out.push_back(piece);
    }
    is_last_short = is_short;
  }
  return out;
}

// Merges the pieces of all lanes; returns how many are left.
std::size_t merge(const std::vector<Lane>& lanes, std::int64_t resolution_ns, std::vector<Lane>& into) {
  std::size_t count = 0;
  into.clear();
  for (const Lane& lane : lanes) {
    Lane& next = into.emplace_back(Lane{lane.rank, lane.label, {}});
    for (const LanePieces& group : lane.groups) {
      next.groups.push_back({group.look, group.mode, merged(group.pieces, resolution_ns)});
      count += next.groups.back().pieces.size();
    }
  }
  return count;
}

}  // namespace

Lanes find_lanes(const Trace& trace, const TimelineSvgRequest& request, std::int64_t finest, std::size_t most_pieces) {
  const std::vector<Window> all = analysis::windows_of_step(trace, request.windows, request.block, request.step);
  std::optional<Communications> found;
  if (request.communications == nullptr) found = analysis::communications_of(trace);
  const Communications& communications = found ? *found : *request.communications;
  const std::vector<Window> windows = shown_windows(trace, all, request.most_ranks);
  std::int64_t begin_ns = communications.common_ns(all.front().rank, all.front().begin_ns), end_ns = begin_ns;
  for (const Window& window : all) {
    begin_ns = std::min(begin_ns, communications.common_ns(window.rank, window.begin_ns));
    end_ns = std::max(end_ns, communications.common_ns(window.rank, window.end_ns));
  }
  Lanes lanes{.lanes = {}, .length_ns = end_ns - begin_ns, .num_ranks = all.size(), .shown_ranks = windows.size()};
  std::vector<Lane> whole =
      lanes_of(trace, windows, [&](std::int32_t rank) { return communications.common_ns(rank, 0) - begin_ns; });
  lanes.left_out = drop_idle_lanes(whole);
  std::int64_t resolution_ns = std::max<std::int64_t>(1, lanes.length_ns / finest);
  while (merge(whole, resolution_ns, lanes.lanes) > most_pieces && resolution_ns < lanes.length_ns) resolution_ns *= 2;
  return lanes;
}

}  // namespace underlap::page
