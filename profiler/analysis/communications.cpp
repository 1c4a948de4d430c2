// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/communications.hpp"

#include <iterator>
#include <limits>
#include <set>

#include "profiler/trace/communication_parts.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

// A slice may send and receive several messages; each of its peers' starts, on the common clock, is in `last`.
struct PeerArrivals {
  std::int64_t last_ns = 0;
  std::size_t messages = 0;
};

std::size_t num_messages(const CommunicationRecord& record) {
  return static_cast<std::size_t>(std::ranges::count_if(record.transfers, [](const TransferRecord& transfer) {
    return transfer.collective == Collective::send || transfer.collective == Collective::receive;
  }));
}

void find_message_arrivals(Trace& trace, const Communications& communications) {
  std::map<std::uint32_t, PeerArrivals> arrivals;
  const auto start = [&](const MatchMember& m) { return communications.common_ns(m.rank, trace.start_ns()[m.slice]); };
  for (const Match& match : communications.matching.matches) {
    if (!match.is_message()) continue;
    const std::int64_t both = std::max(start(match.members[0]), start(match.members[1]));
    for (const MatchMember& member : match.members) {
      PeerArrivals& found = arrivals.emplace(member.slice, PeerArrivals{both, 0}).first->second;
      found.last_ns = std::max(found.last_ns, both);
      ++found.messages;
    }
  }
  for (const auto& [slice, found] : arrivals) {
    const CommunicationRecord& record = *trace.communication(slice);
    if (record.last_arrival_ns != -1 || found.messages != num_messages(record)) continue;
    const std::int64_t offset = communications.alignment.offset_ns.at(trace.track_of(slice).rank);
    trace.set_last_arrival(slice, saturating_add(found.last_ns, offset));
  }
}

// A message does not arrive before it was sent: the messages of both directions bound an offset from both sides.
void bound_by_messages(const Trace& trace, Communications& communications) {
  struct Bounds {
    std::optional<std::int64_t> low, high;
    std::int64_t count = 0;
  };
  ClockAlignment& alignment = communications.alignment;
  if (alignment.is_one_clock) return;
  std::map<std::pair<std::int32_t, std::int32_t>, Bounds> found;
  for (const Match& match : communications.matching.matches) {
    if (!match.is_message()) continue;
    const MatchMember &sender = match.members[0], &receiver = match.members[1];
    const std::pair<std::int32_t, std::int32_t> pair = std::minmax(sender.rank, receiver.rank);
    if (alignment.pairs.contains(pair) || sender.rank == receiver.rank) continue;
    Bounds& bounds = found[pair];
    ++bounds.count;
    const std::int64_t sent = trace.start_ns()[sender.slice], arrived = trace.end_ns(receiver.slice);
    if (sender.rank == pair.first)
      bounds.high = std::min(bounds.high.value_or(kFar), saturating_subtract(arrived, sent));
    else
      bounds.low = std::max(bounds.low.value_or(-kFar), saturating_subtract(sent, arrived));
  }
  for (const auto& [pair, bounds] : found) {
    if (!bounds.low || !bounds.high) continue;
    const std::int64_t used =
        saturating_subtract(communications.offset_ns(pair.second), communications.offset_ns(pair.first));
    alignment.pairs.emplace(pair, ClockOffset{.low_ns = std::min(*bounds.low, used),
                                              .high_ns = std::max(*bounds.high, used),
                                              .count = bounds.count});
  }
}

std::vector<std::int32_t> missing_ranks_of(const Trace& trace) {
  constexpr std::int32_t kMostRanks = 1 << 20;
  std::set<std::int32_t> of_job, in_trace;
  for (const Track& track : trace.tracks) in_trace.insert(track.rank);
  for (const GroupRecord& group : trace.groups) of_job.insert(group.ranks.begin(), group.ranks.end());
  const std::int32_t size = trace.metadata.contains("world_size") ? num_ranks_of_job(trace) : 0;
  for (std::int32_t rank = 0; rank < size && size <= kMostRanks; ++rank) of_job.insert(rank);
  std::vector<std::int32_t> missing;
  std::ranges::set_difference(of_job, in_trace, std::back_inserter(missing));
  return missing;
}

}  // namespace

std::int64_t Communications::offset_ns(std::int32_t rank) const {
  const auto offset = alignment.offset_ns.find(rank);
  return offset == alignment.offset_ns.end() ? 0 : offset->second;
}

std::int64_t Communications::common_ns(std::int32_t rank, std::int64_t time_ns) const {
  return saturating_subtract(time_ns, offset_ns(rank));
}

Communications match_and_align(Trace& trace) {
  Communications communications;
  communications.matching = match_communications(trace);
  record_matches(trace, communications.matching);
  communications.alignment = align_clocks(trace);
  find_arrivals(trace, communications.alignment);
  find_message_arrivals(trace, communications);
  CommunicationParts(trace).update(trace);
  bound_by_messages(trace, communications);
  communications.missing_ranks = missing_ranks_of(trace);
  return communications;
}

Communications communications_of(const Trace& trace) {
  Communications communications{match_communications(trace), align_clocks(trace)};
  bound_by_messages(trace, communications);
  communications.missing_ranks = missing_ranks_of(trace);
  return communications;
}

}  // namespace underlap::analysis
