// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/waits/covered_time.hpp"

#include "profiler/analysis/durations.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {

CoveredTime::CoveredTime(const IntervalSet& set) : intervals_(set.intervals().begin(), set.intervals().end()) {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals_) {
    length_before_.push_back(sum);
    sum = saturating_add(sum, interval.length());
  }
}

std::int64_t CoveredTime::before(std::int64_t time) const {
  const auto next = std::ranges::lower_bound(intervals_, time, {}, &Interval::begin);
  if (next == intervals_.begin()) return 0;
  const auto i = static_cast<std::size_t>(next - intervals_.begin()) - 1;
  return length_before_[i] + std::min(time, intervals_[i].end) - intervals_[i].begin;
}

std::int64_t CoveredTime::within(std::int64_t begin, std::int64_t end) const {
  return end <= begin ? 0 : before(end) - before(begin);
}

std::map<std::int32_t, CoveredTime> covered_by_compute(const Trace& trace) {
  std::map<std::int32_t, CoveredTime> ranks;
  for (const auto& [rank, compute] : compute_by_rank(trace)) ranks.emplace(rank, compute);
  return ranks;
}

RankTime::RankTime(const Trace& trace, const Communications& communications, const std::vector<std::uint32_t>& slices) {
  std::vector<Interval> compute, communication, transfer, wait, copy;
  const std::int64_t offset = slices.empty() ? 0 : communications.offset_ns(trace.track_of(slices.front()).rank);
  for (const std::uint32_t i : slices) {
    const Interval active{saturating_subtract(trace.start_ns()[i], offset),
                          saturating_subtract(trace.end_ns(i), offset)};
    const Kind kind = trace.tag(i).kind;
    (kind == Kind::compute ? compute : kind == Kind::copy ? copy : communication).push_back(active);
    if (kind != Kind::communication) continue;
    const CommunicationRecord* record = trace.communication(i);
    const bool arrival_known = record != nullptr && record->last_arrival_ns != -1;
    const std::int64_t arrival = arrival_known ? saturating_subtract(record->last_arrival_ns, offset) : active.begin;
    wait.push_back({active.begin, std::min(arrival, active.end)});
    transfer.push_back({std::max(arrival, active.begin), active.end});
  }
  // While any communication transfers, a moment is communication and no wait.
  const IntervalSet computing(std::move(compute));
  const IntervalSet transferring = subtract(IntervalSet(std::move(transfer)), computing);
  const IntervalSet communicating = subtract(IntervalSet(std::move(communication)), computing);
  const IntervalSet waiting = subtract(subtract(IntervalSet(std::move(wait)), computing), transferring);
  compute_ = CoveredTime(computing);
  wait_ = CoveredTime(waiting);
  communication_ = CoveredTime(subtract(communicating, waiting));
  copy_ = CoveredTime(subtract(subtract(IntervalSet(std::move(copy)), computing), communicating));
}

TimeParts RankTime::within(std::int64_t begin, std::int64_t end) const {
  TimeParts parts{.compute_ns = compute_.within(begin, end),
                  .wait_ns = wait_.within(begin, end),
                  .communication_ns = communication_.within(begin, end),
                  .copy_ns = copy_.within(begin, end),
                  .idle_ns = 0};
  parts.idle_ns = std::max<std::int64_t>(end - begin, 0) - parts.length_ns();
  return parts;
}

}  // namespace underlap::analysis
