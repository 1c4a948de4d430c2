// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/waits/wait_charges.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiler/analysis/waits/covered_time.hpp"

namespace underlap::analysis {
namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

}  // namespace

WaitCharges::WaitCharges(const Trace& trace, const Communications& communications,
                         std::span<const LateArrival> arrivals)
    : communications_(communications), arrivals_(arrivals), charges_(arrivals.size()), is_open_(arrivals.size()) {
  read(trace, communications);
}

void WaitCharges::read(const Trace& trace, const Communications& communications) {
  std::unordered_map<std::uint32_t, std::size_t> arrival_of;  // of slices, the latest
  for (std::size_t i = 0; i < arrivals_.size(); ++i)
    for (const MatchMember& member : communications.matching.matches[arrivals_[i].match].members) {
      std::size_t& found = arrival_of.try_emplace(member.slice, i).first->second;
      if (arrivals_[i].last_ns > arrivals_[found].last_ns) found = i;
    }
  for (const auto& [rank, slices] : work_by_rank(trace)) {
    std::vector<Change> changes;
    const auto add = [&](std::int64_t begin, std::int64_t end, Doing doing, std::size_t arrival) {
      if (begin >= end) return;
      changes.push_back({begin, 1, doing, arrival});
      changes.push_back({end, -1, doing, arrival});
    };
    for (const std::uint32_t slice : slices) {
      const std::int64_t start = communications.common_ns(rank, trace.start_ns()[slice]);
      const std::int64_t end = communications.common_ns(rank, trace.end_ns(slice));
      if (trace.tag(slice).kind != Kind::communication) {
        add(start, end, Doing::own, kNobody);
        continue;
      }
      const auto arrival = arrival_of.find(slice);
      const std::int64_t last =
          arrival == arrival_of.end() ? start : std::clamp(arrivals_[arrival->second].last_ns, start, end);
      add(start, last, Doing::wait, arrival == arrival_of.end() ? kNobody : arrival->second);
      add(last, end, Doing::transfer, kNobody);
    }
    make_segments(rank, std::move(changes));
  }
}

// At one time its own work counts first, then a transfer, then the wait for what arrives last.
void WaitCharges::make_segments(std::int32_t rank, std::vector<Change> changes) {
  std::ranges::sort(changes, {}, &Change::time_ns);
  std::array<int, 2> running{};
  std::multiset<std::pair<std::int64_t, std::size_t>> waits;
  std::vector<Segment>& segments = segments_[rank];
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    if (change.doing != Doing::wait) {
      running[static_cast<std::size_t>(change.doing)] += change.step;
    } else {
      const std::pair wait(arrivals_[change.arrival].last_ns, change.arrival);
      if (change.step > 0) waits.insert(wait);
      if (change.step < 0) waits.erase(waits.find(wait));
    }
    if (i + 1 == changes.size() || changes[i + 1].time_ns == change.time_ns) continue;
    Segment segment{change.time_ns, changes[i + 1].time_ns, Doing::own, kNobody};
    if (running[static_cast<std::size_t>(Doing::own)] > 0)
      segment.doing = Doing::own;
    else if (running[static_cast<std::size_t>(Doing::transfer)] > 0)
      segment.doing = Doing::transfer;
    else if (!waits.empty())
      segment.doing = Doing::wait, segment.arrival = waits.rbegin()->second;
    else
      continue;
    segments.push_back(segment);
  }
}

const std::vector<Charge>& WaitCharges::of(std::size_t arrival) {
  if (charges_[arrival]) return *charges_[arrival];
  is_open_[arrival] = true;
  const LateArrival& late = arrivals_[arrival];
  std::vector<Charge> charges;
  const std::vector<Segment>& segments = segments_[late.last_rank];
  auto next = std::ranges::upper_bound(segments, late.first_ns, {}, &Segment::end_ns);
  for (std::int64_t time = late.first_ns; time < late.last_ns;) {
    const bool idles = next == segments.end() || next->begin_ns > time;
    const std::int64_t until = next == segments.end() ? late.last_ns : idles ? next->begin_ns : next->end_ns;
    Segment segment{time, std::min(until, late.last_ns), Doing::own, kNobody};
    if (!idles) segment.doing = next->doing, segment.arrival = next->arrival;
    charge(charges, arrival, segment);
    time = segment.end_ns;
    if (!idles) ++next;
  }
  is_open_[arrival] = false;
  return charges_[arrival].emplace(std::move(charges));
}

// What the last rank of `arrival` did in a part of the wait for it.
void WaitCharges::charge(std::vector<Charge>& charges, std::size_t arrival, const Segment& segment) {
  const LateArrival& late = arrivals_[arrival];
  const Charge own{segment.begin_ns, segment.end_ns, late.last_rank, late.own_cause, arrival, 0};
  const bool is_schedule = late.own_cause == LateCause::pipeline;
  if (segment.doing == Doing::own || is_schedule || (segment.doing == Doing::wait && is_open_[segment.arrival]))
    return add(charges, own);
  if (segment.doing == Doing::transfer)
    return add(charges, {segment.begin_ns, segment.end_ns, -1, LateCause::transfer, arrival, 0});
  const std::int32_t awaited = arrivals_[segment.arrival].last_rank;
  const auto uncertainty = communications_.alignment.uncertainty_ns(late.last_rank, awaited);
  if (!uncertainty || arrivals_[segment.arrival].own_cause == LateCause::unresolved)
    return add(charges, {segment.begin_ns, segment.end_ns, -1, LateCause::unresolved, arrival, 0});
  std::int64_t time = segment.begin_ns;
  const std::vector<Charge>& all = of(segment.arrival);
  for (auto inner = std::ranges::upper_bound(all, time, {}, &Charge::end_ns); inner != all.end(); ++inner) {
    if (inner->begin_ns >= segment.end_ns) break;
    Charge part = *inner;
    part.begin_ns = std::max(inner->begin_ns, time);
    part.end_ns = std::min(inner->end_ns, segment.end_ns);
    ++part.hops;
    add(charges, part);
    time = part.end_ns;
  }
}

void WaitCharges::add(std::vector<Charge>& charges, const Charge& charge) {
  if (charge.begin_ns >= charge.end_ns) return;
  const auto what = [](const Charge& c) { return std::tuple(c.rank, c.cause, c.arrival, c.hops); };
  if (!charges.empty() && charges.back().end_ns == charge.begin_ns && what(charges.back()) == what(charge))
    charges.back().end_ns = charge.end_ns;
  else
    charges.push_back(charge);
}

}  // namespace underlap::analysis
