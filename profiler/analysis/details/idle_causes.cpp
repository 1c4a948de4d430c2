// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/trace_details.hpp"

#include <algorithm>
#include <utility>

#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<IdleCause, kNumIdleCauses> kIdleCauses{{"launch", "wait", "pipeline", "not_known"}};

// What one rank's device does, and what it waits for.
struct RankContent {
  std::vector<std::uint32_t> work;  ///< by start
  IntervalSet busy;
  CoveredTime waits;  ///< that the trace shows on its streams
};

// The end of the launch call of each launched slice; the last one if there are several.
std::unordered_map<std::uint32_t, std::int64_t> ends_of_calls(const Trace& trace) {
  std::unordered_map<std::uint32_t, std::int64_t> ends;
  for (const Flow& flow : trace.flows) {
    if (flow.kind != FlowKind::launch) continue;
    const std::int64_t end = trace.end_ns(flow.from);
    const auto [found, is_new] = ends.emplace(flow.to, end);
    if (!is_new) found->second = std::max(found->second, end);
  }
  return ends;
}

std::map<std::int32_t, CoveredTime> waits_by_rank(const Trace& trace) {
  std::map<std::int32_t, std::vector<Interval>> waits;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (!trace.is_work(i) && trace.track_of(i).kind == TrackKind::stream)
      waits[trace.track_of(i).rank].push_back({trace.start_ns()[i], trace.end_ns(i)});
  std::map<std::int32_t, CoveredTime> covered;
  for (auto& [rank, intervals] : waits) covered.emplace(rank, CoveredTime(IntervalSet(std::move(intervals))));
  return covered;
}

class IdleFinder {
 public:
  explicit IdleFinder(const Trace& trace) : trace_(trace), call_end_(ends_of_calls(trace)) {
    auto waits = waits_by_rank(trace);
    for (auto& [rank, slices] : work_by_rank(trace)) {
      std::vector<Interval> busy;
      for (const std::uint32_t i : slices) busy.push_back({trace.start_ns()[i], trace.end_ns(i)});
      ranks_[rank] = {slices, IntervalSet(std::move(busy)), std::move(waits[rank])};
    }
  }

  void add(const Window& window, IdleTime& idle) const {
    const auto rank = ranks_.find(window.rank);
    if (rank == ranks_.end()) {
      idle.ns.back() += window.length_ns();
      return;
    }
    const auto busy = rank->second.busy.intervals();
    auto next = std::ranges::upper_bound(busy, window.begin_ns, {}, &Interval::end);
    std::int64_t from = window.begin_ns;
    for (; next != busy.end() && next->begin < window.end_ns; ++next) {
      if (from < next->begin) add_gap(rank->second, from, next->begin, next->begin, idle);
      from = next->end;
    }
    if (from >= window.end_ns) return;
    if (next == busy.end())
      add_rest(rank->second, from, window.end_ns, false, idle);
    else
      add_gap(rank->second, from, window.end_ns, next->begin, idle);
  }

 private:
  // [begin, end) is idle, and something starts at `next_start`, at its end or later.
  void add_gap(const RankContent& rank, std::int64_t begin, std::int64_t end, std::int64_t next_start,
               IdleTime& idle) const {
    const auto start = [&](std::uint32_t i) { return trace_.start_ns()[i]; };
    std::int64_t launched = begin;
    bool is_known = false, receives = false;
    for (auto i = std::ranges::lower_bound(rank.work, next_start, {}, start);
         i != rank.work.end() && start(*i) == next_start; ++i) {
      receives |= receives_in_pipeline(trace_, *i);
      const auto call = call_end_.find(*i);
      if (call == call_end_.end()) continue;
      is_known = true;
      launched = std::max(launched, call->second);
    }
    idle.gaps += 1;
    idle.gaps_with_call += is_known ? 1 : 0;
    if (is_known && launched > begin) {
      // The part after the call's end counts as launch only where the work began soon after it.
      const std::int64_t latest = saturating_add(launched, kLongestLaunchNs);
      const std::int64_t until = next_start <= latest ? end : std::min(end, launched);
      idle.ns[static_cast<std::size_t>(IdleCause::launch)] += until - begin;
      begin = until;
    }
    if (begin < end) add_rest(rank, begin, end, receives, idle, false);
  }

  void add_rest(const RankContent& rank, std::int64_t begin, std::int64_t end, bool receives, IdleTime& idle,
                bool is_gap = true) const {
    const std::int64_t waiting = rank.waits.within(begin, end);
    idle.gaps += is_gap ? 1 : 0;
    idle.ns[static_cast<std::size_t>(IdleCause::wait)] += waiting;
    idle.ns[static_cast<std::size_t>(receives ? IdleCause::pipeline : IdleCause::not_known)] += end - begin - waiting;
  }

  const Trace& trace_;
  std::unordered_map<std::uint32_t, std::int64_t> call_end_;
  std::map<std::int32_t, RankContent> ranks_;
};

}  // namespace

std::string_view to_string(IdleCause cause) { return kIdleCauses[cause]; }

std::map<std::int32_t, IdleTime> find_idle_causes(const Trace& trace, std::span<const Window> windows) {
  const IdleFinder finder(trace);
  std::map<std::int32_t, IdleTime> ranks;
  for (const Window& window : windows) finder.add(window, ranks[window.rank]);
  return ranks;
}

}  // namespace underlap::analysis
