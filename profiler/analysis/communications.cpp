// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/communications.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

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
  return communications;
}

Communications communications_of(const Trace& trace) { return {match_communications(trace), align_clocks(trace)}; }

}  // namespace underlap::analysis
