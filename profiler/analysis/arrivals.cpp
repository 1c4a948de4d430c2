// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "platform/numbers/median.hpp"
#include "profiler/trace/backend.hpp"
#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

// Two readings of one clock against the wall clock differ by the corrections of the wall clock between them. Fails when
// two machines happen to agree this well: their clocks are then left as they are.
constexpr std::int64_t kSameClockNs = 100'000;

// Members of a larger collective are compared with its first member only: the number of pairs is quadratic.
constexpr std::size_t kMostRanksInPairs = 8;

// One collective: the slice of each member.
using Members = std::map<std::int32_t, std::size_t>;

enum class Wanted { synchronizing, ends_together };

bool is_wanted(const CommunicationRecord& record, Wanted wanted) {
  return !record.transfers.empty() && std::ranges::all_of(record.transfers, [&](const TransferRecord& transfer) {
    switch (transfer.collective) {
      case Collective::all_reduce:
      case Collective::all_gather:
      case Collective::reduce_scatter: return true;
      case Collective::all_to_all: return wanted == Wanted::synchronizing;
      default: return false;
    }
  });
}

// The collectives with every member in the trace once; if they end together, with at least two members.
std::vector<Members> complete_collectives(const Trace& trace, Wanted wanted) {
  const CommunicationParts parts(trace);
  std::map<std::pair<std::uint32_t, std::uint64_t>, Members> found;
  std::set<std::pair<std::uint32_t, std::uint64_t>> ambiguous;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const CommunicationRecord* record = trace.communication(i);
    if (record == nullptr || record->is_part || !is_wanted(*record, wanted)) continue;
    // Each rank copies to its peers in its own order, so the ends of copies differ.
    if (wanted == Wanted::ends_together && parts.has_parts(i)) continue;
    const std::pair key(record->group, record->sequence);
    if (!found[key].emplace(trace.track_of(i).rank, i).second) ambiguous.insert(key);
  }
  std::vector<Members> complete;
  for (auto& [key, members] : found)
    if (members.size() > 1 && !ambiguous.contains(key) &&
        (wanted == Wanted::ends_together || members.size() == trace.groups[key.first].size()))
      complete.push_back(std::move(members));
  return complete;
}

bool is_virtual(const Trace& trace) {
  const auto said = trace.metadata.find("backend");
  if (said == trace.metadata.end()) return false;
  const auto backend = backend_from(said->second);
  return backend && !traits_of(*backend).measures_time;
}

// Whether the clock snapshots of all ranks show one clock: compares the first snapshot of each rank with the wall
// clock.
bool share_one_clock(const Trace& trace, const std::set<std::int32_t>& ranks) {
  if (is_virtual(trace)) return true;
  std::map<std::int32_t, std::int64_t> behind_wall;
  for (const ClockSnapshot& clock : trace.clocks) behind_wall.emplace(clock.rank, clock.unix_ns - clock.device_ns);
  if (behind_wall.empty()) return false;
  return std::ranges::all_of(ranks, [&](std::int32_t rank) {
    const auto found = behind_wall.find(rank);
    if (found == behind_wall.end()) return false;
    const std::int64_t apart = saturating_subtract(found->second, behind_wall.begin()->second);
    return -kSameClockNs <= apart && apart <= kSameClockNs;
  });
}

// Differences of ends of two ranks.
struct Apart {
  std::vector<std::int64_t> ns;
  std::vector<std::int64_t> at_ns;  ///< when, on the aligned rank's clock
};

// By (aligned rank, other rank).
using Differences = std::map<std::pair<std::int32_t, std::int32_t>, Apart>;

Differences differences_of_ends(const Trace& trace, const std::vector<Members>& collectives) {
  Differences differences;
  const auto add = [&](const auto& a, const auto& b) {
    Apart& apart = differences[{a.first, b.first}];
    apart.ns.push_back(saturating_subtract(trace.end_ns(b.second), trace.end_ns(a.second)));
    apart.at_ns.push_back(trace.end_ns(a.second));
  };
  for (const Members& members : collectives) {
    if (members.size() > kMostRanksInPairs) {
      for (auto other = std::next(members.begin()); other != members.end(); ++other) {
        add(*members.begin(), *other);
        add(*other, *members.begin());
      }
      continue;
    }
    for (const auto& a : members)
      for (const auto& b : members)
        if (a.first != b.first) add(a, b);
  }
  return differences;
}

void align_reachable(const Differences& differences, ClockAlignment& alignment) {
  std::map<std::int32_t, std::int64_t>& offset_ns = alignment.offset_ns;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pair, ends] : differences) {
      const auto from = offset_ns.find(pair.first);
      if (from == offset_ns.end() || offset_ns.contains(pair.second)) continue;
      offset_ns[pair.second] = saturating_add(from->second, median(ends.ns));
      alignment.aligned_to[pair.second] = pair.first;
      grew = true;
    }
  }
}

// How far the ends lie from the median end of their collective.
struct EndSpread {
  std::int64_t largest_ns = 0;
  double sum_ns = 0;
};

EndSpread spread_of_ends(const Trace& trace, const std::vector<Members>& collectives,
                         const std::map<std::int32_t, std::int64_t>& offset_ns) {
  EndSpread spread;
  for (const Members& members : collectives) {
    std::vector<std::int64_t> ends;
    for (const auto& [rank, slice] : members)
      ends.push_back(saturating_subtract(trace.end_ns(slice), offset_ns.at(rank)));
    const std::int64_t common = median(ends);
    for (const std::int64_t end : ends) {
      const std::int64_t apart = std::max(saturating_subtract(end, common), saturating_subtract(common, end));
      spread.largest_ns = std::max(spread.largest_ns, apart);
      spread.sum_ns += static_cast<double>(apart);
    }
  }
  return spread;
}

// Whether ends are as read less than twice as far apart as after correction: then what the correction removes is no
// more than the noise that it leaves, and the clocks may as well be one. Of all ends, since one late thread moves the
// largest.
bool agree_as_read(const Trace& trace, const std::vector<Members>& collectives,
                   const std::map<std::int32_t, std::int64_t>& offset_ns) {
  std::map<std::int32_t, std::int64_t> none;
  for (const auto& [rank, offset] : offset_ns) none.emplace(rank, 0);
  return spread_of_ends(trace, collectives, none).sum_ns < 2 * spread_of_ends(trace, collectives, offset_ns).sum_ns;
}

// A line through the differences by least squares; nullopt where they are too few, or all of one moment.
std::optional<ClockDrift> drift_of(const Apart& apart) {
  constexpr std::size_t kFewest = 4;
  const std::size_t num = apart.ns.size();
  if (num < kFewest) return std::nullopt;
  double mean_at = 0, mean_ns = 0, square = 0, product = 0, residual = 0;
  const auto at = [&](std::size_t i) {
    return static_cast<double>(saturating_subtract(apart.at_ns[i], apart.at_ns[0]));
  };
  const auto ns = [&](std::size_t i) { return static_cast<double>(apart.ns[i]); };
  for (std::size_t i = 0; i < num; ++i)
    mean_at += at(i) / static_cast<double>(num), mean_ns += ns(i) / static_cast<double>(num);
  for (std::size_t i = 0; i < num; ++i) {
    square += (at(i) - mean_at) * (at(i) - mean_at);
    product += (at(i) - mean_at) * (ns(i) - mean_ns);
  }
  if (square == 0) return std::nullopt;
  const double slope = product / square;
  for (std::size_t i = 0; i < num; ++i) {
    const double left = ns(i) - mean_ns - slope * (at(i) - mean_at);
    residual += left * left;
  }
  constexpr double kLimit = 2;  // of a normal distribution at 95 %, a little wide
  constexpr double kPpm = 1e6;
  const double margin = kLimit * std::sqrt(residual / static_cast<double>(num - 2) / square);
  return ClockDrift{kPpm * slope, kPpm * (slope - margin), kPpm * (slope + margin)};
}

ClockOffset offset_of(const Apart& apart) {
  constexpr std::size_t kTrimmed = 40;  // one of so many at each end
  // Clocks of different machines are hardly ever as close by chance.
  constexpr std::int64_t kAgreeNs = 10'000;
  if (apart.ns.size() == 1) {
    const std::int64_t ns = apart.ns.front();
    const bool agrees = -kAgreeNs <= ns && ns <= kAgreeNs;
    return {.low_ns = agrees ? std::min<std::int64_t>(ns, 0) : ns,
            .high_ns = agrees ? std::max<std::int64_t>(ns, 0) : ns,
            .count = 1,
            .agrees_as_read = agrees};
  }
  std::vector<std::int64_t> sorted = apart.ns;
  std::ranges::sort(sorted);
  const std::size_t left_out = sorted.size() / kTrimmed;
  return {.low_ns = sorted[left_out],
          .high_ns = sorted[sorted.size() - 1 - left_out],
          .count = static_cast<std::int64_t>(sorted.size()),
          .drift = drift_of(apart)};
}

void find_pairs(const Differences& differences, ClockAlignment& alignment) {
  for (const auto& [pair, apart] : differences) {
    if (pair.first > pair.second) continue;
    ClockOffset offset = offset_of(apart);
    const std::int64_t used =
        saturating_subtract(alignment.offset_ns.at(pair.second), alignment.offset_ns.at(pair.first));
    offset.low_ns = std::min(offset.low_ns, used);
    offset.high_ns = std::max(offset.high_ns, used);
    alignment.pairs.emplace(pair, offset);
  }
}

bool knows_offsets(const ClockAlignment& alignment) {
  return std::ranges::all_of(alignment.aligned_to, [&](const auto& aligned) {
    return alignment.uncertainty_ns(aligned.first, aligned.second).has_value();
  });
}

}  // namespace

std::int64_t ClockOffset::width_ns() const { return saturating_subtract(high_ns, low_ns); }

std::optional<std::int64_t> ClockAlignment::uncertainty_ns(std::int32_t a, std::int32_t b) const {
  if (is_one_clock || a == b) return 0;
  const auto direct = pairs.find(std::minmax(a, b));
  if (direct != pairs.end()) return direct->second.is_known() ? std::optional(direct->second.width_ns()) : std::nullopt;
  // Up from both to the rank that all of them were aligned to.
  std::int64_t width = 0;
  std::array<std::int32_t, 2> top{a, b};
  for (std::int32_t& rank : top)
    for (auto to = aligned_to.find(rank); to != aligned_to.end() && to->second != rank; to = aligned_to.find(rank)) {
      const auto pair = pairs.find(std::minmax(rank, to->second));
      if (pair == pairs.end() || !pair->second.is_known()) return std::nullopt;
      width = saturating_add(width, pair->second.width_ns());
      rank = to->second;
    }
  return top[0] == top[1] ? std::optional(width) : std::nullopt;
}

ClockAlignment align_clocks(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  const std::vector<Members> collectives = complete_collectives(trace, Wanted::ends_together);
  ClockAlignment alignment;
  const bool is_one_clock = alignment.is_one_clock = share_one_clock(trace, ranks);
  Differences differences;
  if (!is_one_clock) {
    differences = differences_of_ends(trace, collectives);
    for (const std::int32_t rank : ranks) {
      if (alignment.offset_ns.contains(rank)) continue;
      alignment.offset_ns[rank] = 0;
      alignment.aligned_to[rank] = rank;
      align_reachable(differences, alignment);
    }
  }
  for (const std::int32_t rank : ranks) alignment.offset_ns.emplace(rank, 0);
  if (!is_one_clock && agree_as_read(trace, collectives, alignment.offset_ns))
    for (auto& [rank, offset] : alignment.offset_ns) offset = 0;
  find_pairs(differences, alignment);
  if (!collectives.empty() && knows_offsets(alignment))
    (is_one_clock ? alignment.lateness_ns : alignment.residual_ns) =
        spread_of_ends(trace, collectives, alignment.offset_ns).largest_ns;
  if (is_one_clock) alignment.residual_ns = 0;
  return alignment;
}

void find_arrivals(Trace& trace, const ClockAlignment& alignment) {
  for (const Members& members : complete_collectives(trace, Wanted::synchronizing)) {
    if (!std::ranges::all_of(members, [&](const auto& member) {
          return alignment.uncertainty_ns(members.begin()->first, member.first).has_value();
        }))
      continue;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const auto& [rank, slice] : members)
      last = std::max(last, saturating_subtract(trace.start_ns()[slice], alignment.offset_ns.at(rank)));
    for (const auto& [rank, slice] : members)
      if (trace.communication(slice)->last_arrival_ns == -1)
        trace.set_last_arrival(slice, saturating_add(last, alignment.offset_ns.at(rank)));
  }
}

}  // namespace underlap::analysis
