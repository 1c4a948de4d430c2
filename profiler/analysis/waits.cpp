// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/waits.hpp"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <tuple>

#include "profiler/analysis/mode_name.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/analysis/waits/late_ranks.hpp"
#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<LateCause, 10> kLateCauses{{"longer_kernels", "more_kernels", "longer_communication",
                                                "longer_copies", "late_launch", "longer_idle", "longer_wait",
                                                "pipeline", "transfer", "unresolved"}};

// The step in which a slice starts: that of the window that holds its start, unless its tag names one.
std::int32_t step_of(const Trace& trace, std::map<std::int32_t, std::vector<Window>>& windows, std::uint32_t slice) {
  if (trace.tag(slice).step >= 0) return trace.tag(slice).step;
  const Window* window = window_of_end(windows[trace.track_of(slice).rank], saturating_add(trace.start_ns()[slice], 1));
  return window == nullptr ? -1 : window->step;
}

LateArrival arrival_of(const Trace& trace, const CommunicationParts& parts, const Communications& communications,
                       std::size_t index) {
  const Match& match = communications.matching.matches[index];
  LateArrival arrival{.match = index};
  std::int64_t first_end = 0;
  for (const MatchMember& member : match.members) {
    const std::int64_t start = communications.common_ns(member.rank, trace.start_ns()[member.slice]);
    const std::int64_t end = communications.common_ns(member.rank, parts.end_ns(member.slice));
    const bool is_first = &member == &match.members.front();
    if (is_first || start > arrival.last_ns) arrival.last_rank = member.rank, arrival.last_ns = start;
    arrival.first_ns = is_first ? start : std::min(arrival.first_ns, start);
    first_end = is_first ? end : std::min(first_end, end);
  }
  if (match.num_missing == 0) arrival.transfer_ns = std::max<std::int64_t>(first_end - arrival.last_ns, 0);
  return arrival;
}

// What one member waited and transferred.
struct MemberTime {
  std::int64_t wait_ns = 0, exposed_wait_ns = 0, transfer_ns = 0, exposed_transfer_ns = 0;
};

MemberTime time_of(std::int64_t start, std::int64_t arrival, std::int64_t end, const RankTime& rank) {
  const std::int64_t split = std::clamp(arrival, start, std::max(start, end));
  return {.wait_ns = split - start,
          .exposed_wait_ns = split - start - rank.compute_within(start, split),
          .transfer_ns = std::max(start, end) - split,
          .exposed_transfer_ns = std::max(start, end) - split - rank.compute_within(split, end)};
}

void add(WaitTotals& totals, const MemberTime& time) {
  ++totals.count;
  totals.wait_ns += time.wait_ns;
  totals.exposed_wait_ns += time.exposed_wait_ns;
  totals.transfer_ns += time.transfer_ns;
  totals.exposed_transfer_ns += time.exposed_transfer_ns;
}

constexpr std::size_t kNobody = ~std::size_t{0};

/// What a stretch of waiting is charged to, on the clock of all ranks.
struct Charge {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int32_t rank = -1;  ///< -1: a transfer, or unresolved
  LateCause cause = LateCause::unresolved;
  std::size_t arrival = 0;  ///< whose last rank that is
  std::int32_t hops = 0;    ///< waits between

  std::int64_t length_ns() const { return end_ns - begin_ns; }
};

// Charges waits to the activity of the ranks that arrived last. The arguments must outlive this.
class WaitCharges {
 public:
  // `arrivals` have their own causes.
  WaitCharges(const Trace& trace, const CommunicationParts& parts, const Communications& communications,
              std::span<const LateArrival> arrivals)
      : communications_(communications), arrivals_(arrivals), charges_(arrivals.size()), is_open_(arrivals.size()) {
    read(trace, parts);
  }

  // From the first to the last arrival, in order of time and without holes.
  const std::vector<Charge>& of(std::size_t arrival) {
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

 private:
  enum class Doing : std::uint8_t { own, transfer, wait };
  // What a rank does; it idles between.
  struct Segment {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    Doing doing = Doing::own;
    std::size_t arrival = 0;  ///< that it waits for
  };
  struct Change {
    std::int64_t time_ns = 0;
    int step = 0;
    Doing doing = Doing::own;
    std::size_t arrival = 0;
  };

  void read(const Trace& trace, const CommunicationParts& parts) {
    std::unordered_map<std::uint32_t, std::size_t> arrival_of;  // of slices, the latest
    for (std::size_t i = 0; i < arrivals_.size(); ++i)
      for (const MatchMember& member : communications_.matching.matches[arrivals_[i].match].members) {
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
        const std::int64_t start = communications_.common_ns(rank, trace.start_ns()[slice]);
        const std::int64_t end = communications_.common_ns(rank, trace.end_ns(slice));
        if (trace.tag(slice).kind != Kind::communication) {
          add(start, end, Doing::own, kNobody);
          continue;
        }
        const auto arrival = arrival_of.find(static_cast<std::uint32_t>(parts.first_of(slice)));
        const std::int64_t last =
            arrival == arrival_of.end() ? start : std::clamp(arrivals_[arrival->second].last_ns, start, end);
        add(start, last, Doing::wait, arrival == arrival_of.end() ? kNobody : arrival->second);
        add(last, end, Doing::transfer, kNobody);
      }
      make_segments(rank, std::move(changes));
    }
  }

  // At one time its own work counts first, then a transfer, then the wait for what arrives last.
  void make_segments(std::int32_t rank, std::vector<Change> changes) {
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

  // What the last rank of `arrival` did in a part of the wait for it.
  void charge(std::vector<Charge>& charges, std::size_t arrival, const Segment& segment) {
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

  static void add(std::vector<Charge>& charges, const Charge& charge) {
    if (charge.begin_ns >= charge.end_ns) return;
    const auto what = [](const Charge& c) { return std::tuple(c.rank, c.cause, c.arrival, c.hops); };
    if (!charges.empty() && charges.back().end_ns == charge.begin_ns && what(charges.back()) == what(charge))
      charges.back().end_ns = charge.end_ns;
    else
      charges.push_back(charge);
  }

  const Communications& communications_;
  std::span<const LateArrival> arrivals_;
  std::map<std::int32_t, std::vector<Segment>> segments_;  ///< by rank, in order of time
  std::vector<std::optional<std::vector<Charge>>> charges_;
  std::vector<bool> is_open_;  ///< whose charges are being found
};

void add(WaitTotals& totals, const Charge& charge, std::int32_t last_rank) {
  const std::int64_t ns = charge.length_ns();
  if (charge.cause == LateCause::unresolved) {
    totals.unresolved_ns += ns;
    return;
  }
  totals.wait_ns_by_last_rank[last_rank] += ns;
  totals.wait_ns_by_cause[charge.cause] += ns;
  if (charge.cause == LateCause::transfer)
    totals.behind_transfer_ns += ns;
  else
    totals.wait_ns_by_blamed_rank[charge.rank] += ns;
}

// The charges of a member that waited from `begin` to `end`; an unresolved one if the clocks are not precise enough.
std::vector<Charge> charges_within(WaitCharges& charges, std::size_t arrival, std::int64_t begin, std::int64_t end,
                                   bool is_resolved) {
  if (begin >= end) return {};
  if (!is_resolved) return {{.begin_ns = begin, .end_ns = end, .arrival = arrival}};
  std::vector<Charge> within;
  const std::vector<Charge>& all = charges.of(arrival);
  for (auto next = std::ranges::upper_bound(all, begin, {}, &Charge::end_ns); next != all.end(); ++next) {
    if (next->begin_ns >= end) break;
    within.push_back(*next);
    within.back().begin_ns = std::max(next->begin_ns, begin);
    within.back().end_ns = std::min(next->end_ns, end);
  }
  return within;
}

// Whose time most of the wait was, and why.
void name_cause(std::vector<LateArrival>& arrivals, LateArrival& arrival, const std::vector<Charge>& charges) {
  std::map<std::pair<std::int32_t, LateCause>, std::int64_t> sums;
  for (const Charge& charge : charges) sums[{charge.rank, charge.cause}] += charge.length_ns();
  if (sums.empty()) return;
  const auto most = std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second; });
  const auto charge =
      std::ranges::find_if(charges, [&](const Charge& c) { return std::pair(c.rank, c.cause) == most->first; });
  arrival.blamed_rank = charge->rank;
  arrival.cause = charge->cause;
  arrival.hops = charge->hops;
  arrival.kernel = arrivals[charge->arrival].kernel;
}

}  // namespace

std::string_view to_string(LateCause cause) { return kLateCauses[cause]; }

namespace {

/// What the late rank did: after "which" and "it", or after "whose" and "its".
struct LateWords {
  bool is_of_part;  ///< of its kernels or stage, not of the rank itself
  const char* predicate;
};

LateWords words_of(LateCause cause) {
  switch (cause) {
    case LateCause::longer_kernels: return {true, "kernels took longer"};
    case LateCause::more_kernels: return {false, "ran more kernels"};
    case LateCause::longer_communication: return {true, "communication took longer"};
    case LateCause::longer_copies: return {true, "copies took longer"};
    case LateCause::late_launch: return {false, "launched its work late"};
    case LateCause::longer_idle: return {false, "idled longer"};
    case LateCause::longer_wait: return {false, "waited for another rank"};
    case LateCause::pipeline: return {true, "pipeline stage lagged"};
    case LateCause::transfer: return {false, "was still in an earlier transfer"};
    case LateCause::unresolved: break;
  }
  return {false, "was late by less than the clock uncertainty"};
}

}  // namespace

std::string clause_of(LateCause cause) {
  const LateWords words = words_of(cause);
  return fmt::format("{} {}", words.is_of_part ? "whose" : "which", words.predicate);
}

std::string reason_of(LateCause cause) {
  const LateWords words = words_of(cause);
  return fmt::format("{} {}", words.is_of_part ? "its" : "it", words.predicate);
}

std::vector<LateRank> late_ranks(const WaitReport& report) {
  std::int64_t sum = 0;
  std::vector<LateRank> late;
  for (const auto& [rank, causes] : report.blamed) {
    std::int64_t wait_ns = 0;
    for (const auto& [cause, ns] : causes) wait_ns += ns;
    sum += wait_ns;
    if (rank < 0 || wait_ns <= 0) continue;
    const auto most = std::ranges::max_element(causes, {}, [](const auto& cause) { return cause.second; });
    late.push_back({.rank = rank, .wait_ns = wait_ns, .share = 0, .cause = most->first});
  }
  for (LateRank& rank : late) rank.share = static_cast<double>(rank.wait_ns) / static_cast<double>(sum);
  std::ranges::stable_sort(late, std::ranges::greater{}, &LateRank::wait_ns);
  return late;
}

std::optional<LateRank> WaitReport::late_rank() const {
  const std::vector<LateRank> late = late_ranks(*this);
  return late.empty() ? std::nullopt : std::optional(late.front());
}

WaitReport find_waits(const Trace& trace, const Communications& communications, std::span<const Window> steps) {
  const CommunicationParts parts(trace);
  WaitReport report;
  report.residual_ns = communications.alignment.residual_ns;
  std::map<std::int32_t, RankTime> times;
  for (const auto& [rank, slices] : work_by_rank(trace)) times.emplace(rank, RankTime(trace, communications, slices));
  for (std::size_t i = 0; i < communications.matching.matches.size(); ++i)
    report.arrivals.push_back(arrival_of(trace, parts, communications, i));
  std::ranges::stable_sort(report.arrivals, {}, &LateArrival::last_ns);
  find_late_causes(trace, communications, times, report.arrivals);

  const WindowList marked = steps.empty() ? find_windows(trace) : WindowList{};
  auto windows = windows_by_rank(steps.empty() ? std::span(marked.windows) : steps);
  WaitCharges all_charges(trace, parts, communications, report.arrivals);
  for (std::size_t i = 0; i < report.arrivals.size(); ++i) {
    LateArrival& arrival = report.arrivals[i];
    const Match& match = communications.matching.matches[arrival.match];
    arrival.step = step_of(trace, windows, match.members.front().slice);
    report.least_transfer_ns += arrival.transfer_ns;
    std::vector<Charge> charges;
    for (const MatchMember& member : match.members) {
      const std::int64_t start = communications.common_ns(member.rank, trace.start_ns()[member.slice]);
      MemberTime time =
          time_of(start, arrival.last_ns, communications.common_ns(member.rank, parts.end_ns(member.slice)),
                  times.at(member.rank));
      // A member without a trace may have come later, so only the wait for the others is certain.
      if (match.num_missing > 0) time.transfer_ns = time.exposed_transfer_ns = 0;
      arrival.waited_ns += time.wait_ns;
      const auto uncertainty = communications.alignment.uncertainty_ns(member.rank, arrival.last_rank);
      const std::vector<Charge> own = charges_within(all_charges, i, start, start + time.wait_ns,
                                                     uncertainty && arrival.last_ns - start > *uncertainty);
      charges.insert(charges.end(), own.begin(), own.end());
      for (WaitTotals* totals : {&report.total, &report.ranks[member.rank],
                                 &report.modes[mode_name(trace.tag(member.slice).mode)], &report.steps[arrival.step]}) {
        add(*totals, time);
        for (const Charge& charge : own) add(*totals, charge, arrival.last_rank);
      }
    }
    for (const Charge& charge : charges)
      if (charge.cause != LateCause::unresolved && charge.cause != LateCause::pipeline)
        report.blamed[charge.rank][charge.cause] += charge.length_ns();
    name_cause(report.arrivals, arrival, charges);
  }
  return report;
}

}  // namespace underlap::analysis
