// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/critical_path.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Of a communication that came before its last member: that one.
struct LastMember {
  std::uint32_t slice = kNone;
  std::int64_t arrival_ns = 0;
};

class PathFinder {
 public:
  PathFinder(const Trace& trace, const Communications& communications) : trace_(trace) {
    for (const Track& track : trace.tracks) offset_.push_back(communications.offset_ns(track.rank));
    for (auto& [rank, slices] : work_by_rank(trace)) {
      std::ranges::stable_sort(slices, {}, [&](std::uint32_t i) { return std::pair(end(i), start(i)); });
      by_end_.emplace(rank, slices);
      for (const std::uint32_t i : slices) stream_by_end_[trace.track(i)].push_back(i);
    }
    find_last_members(communications);
    read_flows();
  }

  CriticalPath find(const Interval& span) {
    CriticalPath path;
    path.span = span;
    std::uint32_t current = last_before(span.end);
    std::int64_t time = span.end;
    is_visited_.assign(trace_.size(), false);
    if (current == kNone) return close(std::move(path), 0, kNone, time);
    add(path, PathKind::gap, current, end(current), time);
    time = end(current);
    while (time > span.begin) {
      is_visited_[current] = true;
      const LastMember& last = last_member_of(current);
      if (last.slice != kNone && !is_visited_[last.slice]) {
        const std::int64_t arrival = std::clamp(last.arrival_ns, start(current), time);
        add(path, kind_of(current), current, arrival, time);
        time = arrival;
        current = last.slice;
        is_visited_[current] = true;
        ++path.num_changes;
      } else {
        add(path, kind_of(current), current, start(current), time);
        time = std::min(time, start(current));
      }
      if (time <= span.begin) break;
      const std::uint32_t before = predecessor(current, time);
      if (before == kNone) return close(std::move(path), rank(current), current, time);
      add(path, gap_kind(current, end(before)), current, end(before), time);
      time = end(before);
      if (rank(before) != rank(current)) ++path.num_changes;
      current = before;
    }
    return close(std::move(path), rank(current), current, time);
  }

 private:
  std::int64_t start(std::uint32_t i) const {
    return saturating_subtract(trace_.start_ns()[i], offset_[trace_.track(i)]);
  }
  std::int64_t end(std::uint32_t i) const { return saturating_subtract(trace_.end_ns(i), offset_[trace_.track(i)]); }
  std::int32_t rank(std::uint32_t i) const { return trace_.track_of(i).rank; }

  PathKind kind_of(std::uint32_t i) const {
    switch (trace_.tag(i).kind) {
      case Kind::compute: return PathKind::compute;
      case Kind::communication: return PathKind::communication;
      case Kind::copy: return PathKind::copy;
      case Kind::none: break;
    }
    return PathKind::gap;
  }

  void find_last_members(const Communications& communications) {
    for (const Match& match : communications.matching.matches) {
      const MatchMember& last =
          *std::ranges::max_element(match.members, {}, [&](const MatchMember& member) { return start(member.slice); });
      for (const MatchMember& member : match.members) {
        if (start(member.slice) >= start(last.slice)) continue;
        LastMember& found = last_members_.try_emplace(member.slice).first->second;
        if (found.slice == kNone || start(last.slice) > found.arrival_ns) found = {last.slice, start(last.slice)};
      }
    }
  }

  const LastMember& last_member_of(std::uint32_t slice) const {
    static constexpr LastMember kKnown{};
    const auto found = last_members_.find(slice);
    return found == last_members_.end() ? kKnown : found->second;
  }

  void read_flows() {
    for (const Flow& flow : trace_.flows) {
      if (flow.kind == FlowKind::launch) call_end_[flow.to] = end(flow.from);
      if (flow.kind == FlowKind::dependency && trace_.is_work(flow.from)) add_dependency(flow);
    }
  }

  // A wait is no work: what depends is the next work of its stream.
  void add_dependency(const Flow& flow) {
    std::uint32_t to = flow.to;
    if (!trace_.is_work(to)) {
      const auto stream = stream_by_end_.find(trace_.track(to));
      if (stream == stream_by_end_.end()) return;
      const auto next =
          std::ranges::partition_point(stream->second, [&](std::uint32_t i) { return start(i) < start(flow.to); });
      if (next == stream->second.end()) return;
      to = *next;
    }
    sources_[to].push_back(flow.from);
  }

  // The unvisited slice that ends last by `time`, of slices in order of their ends.
  std::uint32_t last_by(const std::vector<std::uint32_t>& by_end, std::int64_t time) const {
    auto next = std::ranges::upper_bound(by_end, time, {}, [&](std::uint32_t i) { return end(i); });
    while (next != by_end.begin())
      if (!is_visited_[*--next]) return *next;
    return kNone;
  }

  std::uint32_t predecessor(std::uint32_t current, std::int64_t time) const {
    std::uint32_t best = last_by(stream_by_end_.at(trace_.track(current)), time);
    const auto consider = [&](std::uint32_t i) {
      if (i != kNone && !is_visited_[i] && end(i) <= time && (best == kNone || end(i) > end(best))) best = i;
    };
    const auto sources = sources_.find(current);
    if (sources == sources_.end()) {
      consider(last_by(by_end_.at(rank(current)), time));
    } else {
      for (const std::uint32_t source : sources->second) consider(source);
    }
    return best;
  }

  std::uint32_t last_before(std::int64_t time) {
    is_visited_.assign(trace_.size(), false);
    std::uint32_t best = kNone;
    for (const auto& [rank, slices] : by_end_) {
      const std::uint32_t last = last_by(slices, time);
      if (last != kNone && (best == kNone || end(last) > end(best))) best = last;
    }
    return best;
  }

  PathKind gap_kind(std::uint32_t next, std::int64_t since) const {
    const auto call = call_end_.find(next);
    return call != call_end_.end() && call->second > since ? PathKind::launch : PathKind::gap;
  }

  // Adds [begin, end), cut at the span, to pieces that are still in reverse order.
  void add(CriticalPath& path, PathKind kind, std::uint32_t slice, std::int64_t begin, std::int64_t end) const {
    begin = std::max(begin, path.span.begin);
    if (begin >= end) return;
    const std::int64_t length = end - begin;
    path.pieces.push_back({rank(slice), kind, slice, begin, end});
    path.kinds[kind] += length;
    path.ranks[rank(slice)] += length;
    if (kind != PathKind::communication) return;
    const Mode mode = trace_.tag(slice).mode;
    path.modes[mode == Mode::none ? "unattributed" : std::string(to_string(mode))] += length;
  }

  // Before `time` nothing ran that the path could come from.
  CriticalPath close(CriticalPath path, std::int32_t rank, std::uint32_t next, std::int64_t time) const {
    if (time > path.span.begin) {
      const PathKind kind = next == kNone ? PathKind::gap : gap_kind(next, path.span.begin);
      path.pieces.push_back({rank, kind, next == kNone ? 0 : next, path.span.begin, time});
      path.kinds[kind] += time - path.span.begin;
      path.ranks[rank] += time - path.span.begin;
    }
    std::ranges::reverse(path.pieces);
    return path;
  }

  const Trace& trace_;
  std::vector<std::int64_t> offset_;                                             ///< by track
  std::map<std::int32_t, std::vector<std::uint32_t>> by_end_;                    ///< work of a rank
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> stream_by_end_;  ///< by track
  std::unordered_map<std::uint32_t, LastMember> last_members_;
  std::unordered_map<std::uint32_t, std::int64_t> call_end_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> sources_;
  std::vector<bool> is_visited_;
};

}  // namespace

std::string_view to_string(PathKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"compute", "communication", "copy", "launch", "gap"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Interval span_of_all(const Trace& trace, const Communications& communications) {
  std::optional<Interval> span;
  std::vector<std::int64_t> offset;
  for (const Track& track : trace.tracks) offset.push_back(communications.offset_ns(track.rank));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i)) continue;
    const std::int64_t begin = saturating_subtract(trace.start_ns()[i], offset[trace.track(i)]);
    const std::int64_t end = saturating_subtract(trace.end_ns(i), offset[trace.track(i)]);
    if (!span) span = Interval{begin, end};
    span->begin = std::min(span->begin, begin);
    span->end = std::max(span->end, end);
  }
  return span.value_or(Interval{});
}

CriticalPath find_critical_path(const Trace& trace, const Communications& communications, const Interval& span) {
  return PathFinder(trace, communications).find(span);
}

}  // namespace underlap::analysis
