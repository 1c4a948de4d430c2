// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/arrivals.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "profiler/trace/backend.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

// One clock, read at two moments beside the wall clock, differs by what the wall clock was corrected in between.
constexpr std::int64_t kSameClockNs = 100'000;

// Members of a larger collective are compared with its first one only: pairs grow with the square.
constexpr std::size_t kMostRanksInPairs = 8;

// One collective: the slice of each member.
using Members = std::map<std::int32_t, std::size_t>;

enum class Wanted { synchronising, ends_together };

bool is_wanted(const CommunicationRecord& record, Wanted wanted) {
  return !record.transfers.empty() && std::ranges::all_of(record.transfers, [&](const TransferRecord& transfer) {
    switch (transfer.collective) {
      case Collective::all_reduce:
      case Collective::all_gather:
      case Collective::reduce_scatter: return true;
      case Collective::all_to_all: return wanted == Wanted::synchronising;
      default: return false;
    }
  });
}

std::int32_t rank_of(const Trace& trace, std::size_t slice) { return trace.tracks[trace.track(slice)].rank; }

// The collectives of which every member is in the trace, once.
std::vector<Members> complete_collectives(const Trace& trace, Wanted wanted) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, Members> found;
  std::set<std::pair<std::uint32_t, std::uint64_t>> ambiguous;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const CommunicationRecord* record = trace.communication(i);
    if (record == nullptr || !is_wanted(*record, wanted)) continue;
    const std::pair key(record->group, record->sequence);
    if (!found[key].emplace(rank_of(trace, i), i).second) ambiguous.insert(key);
  }
  std::vector<Members> complete;
  for (auto& [key, members] : found)
    if (members.size() > 1 && members.size() == trace.groups[key.first].size() && !ambiguous.contains(key))
      complete.push_back(std::move(members));
  return complete;
}

std::int64_t median(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::int64_t low = values[(values.size() - 1) / 2];
  return saturating_add(low, saturating_subtract(values[values.size() / 2], low) / 2);
}

bool is_virtual(const Trace& trace) {
  const auto said = trace.metadata.find("backend");
  if (said == trace.metadata.end()) return false;
  const auto backend = backend_from(said->second);
  return backend && !traits_of(*backend).measures_time;
}

// Whether the snapshots of all ranks tell of one clock: the first of each rank, against the wall clock.
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

// Differences of ends of two ranks, by (aligned rank, other rank).
using Differences = std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int64_t>>;

Differences differences_of_ends(const Trace& trace, const std::vector<Members>& collectives) {
  Differences differences;
  const auto add = [&](const auto& a, const auto& b) {
    differences[{a.first, b.first}].push_back(saturating_subtract(trace.end_ns(b.second), trace.end_ns(a.second)));
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

void align_reachable(const Differences& differences, std::map<std::int32_t, std::int64_t>& offset_ns) {
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pair, ends] : differences) {
      const auto from = offset_ns.find(pair.first);
      if (from == offset_ns.end() || offset_ns.contains(pair.second)) continue;
      offset_ns[pair.second] = saturating_add(from->second, median(ends));
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

}  // namespace

ClockAlignment align_clocks(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  const std::vector<Members> collectives = complete_collectives(trace, Wanted::ends_together);
  ClockAlignment alignment;
  alignment.num_collectives = static_cast<std::int64_t>(collectives.size());
  const bool is_one_clock = share_one_clock(trace, ranks);
  if (!is_one_clock) {
    const Differences differences = differences_of_ends(trace, collectives);
    for (const std::int32_t rank : ranks) {
      if (alignment.offset_ns.contains(rank)) continue;
      alignment.offset_ns[rank] = 0;
      align_reachable(differences, alignment.offset_ns);
    }
  }
  for (const std::int32_t rank : ranks) alignment.offset_ns.emplace(rank, 0);
  if (!is_one_clock && agree_as_read(trace, collectives, alignment.offset_ns))
    for (auto& [rank, offset] : alignment.offset_ns) offset = 0;
  if (!collectives.empty())
    (is_one_clock ? alignment.lateness_ns : alignment.residual_ns) =
        spread_of_ends(trace, collectives, alignment.offset_ns).largest_ns;
  if (is_one_clock) alignment.residual_ns = 0;
  return alignment;
}

std::int64_t find_arrivals(Trace& trace, const ClockAlignment& alignment) {
  std::int64_t found = 0;
  for (const Members& members : complete_collectives(trace, Wanted::synchronising)) {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const auto& [rank, slice] : members)
      last = std::max(last, saturating_subtract(trace.start_ns()[slice], alignment.offset_ns.at(rank)));
    for (const auto& [rank, slice] : members) {
      if (trace.communication(slice)->last_arrival_ns != -1) continue;
      trace.set_last_arrival(slice, saturating_add(last, alignment.offset_ns.at(rank)));
      ++found;
    }
  }
  return found;
}

}  // namespace underlap::analysis
