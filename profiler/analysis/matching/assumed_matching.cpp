// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/matching/communication_matching.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "platform/numbers/median.hpp"

namespace underlap::analysis {
namespace {

using Slices = std::vector<std::uint32_t>;
using SlicesByRank = std::map<std::int32_t, Slices>;

bool run_same_kernels(const Trace& trace, const SlicesByRank& ranks) {
  const Slices& first = ranks.begin()->second;
  return std::ranges::all_of(ranks, [&](const auto& rank) {
    return std::ranges::equal(
        first, rank.second, {}, [&](std::uint32_t i) { return trace.name(i); },
        [&](std::uint32_t i) { return trace.name(i); });
  });
}

// The ranks' sequences of the first stream with communication, of the second, ...; empty where ranks have different
// numbers of such streams.
std::vector<SlicesByRank> by_stream(const Trace& trace, const SlicesByRank& ranks) {
  std::vector<SlicesByRank> streams;
  for (const auto& [rank, slices] : ranks) {
    std::map<std::uint32_t, std::size_t> position;
    for (const std::uint32_t slice : slices) {
      const std::size_t at = position.emplace(trace.track(slice), position.size()).first->second;
      if (at == streams.size()) streams.emplace_back();
      streams[at][rank].push_back(slice);
    }
  }
  if (std::ranges::any_of(streams, [&](const SlicesByRank& stream) { return stream.size() != ranks.size(); }))
    return {};
  return streams;
}

// The apparent offset of each rank's clock from the first rank's clock, by the ends of slices.
std::map<std::int32_t, std::int64_t> offsets_by_ends(const Trace& trace, const SlicesByRank& ranks) {
  const Slices& first = ranks.begin()->second;
  std::map<std::int32_t, std::int64_t> offsets;
  for (const auto& [rank, slices] : ranks) {
    std::vector<std::int64_t> apart;
    for (std::size_t i = 0; i < slices.size(); ++i) apart.push_back(trace.end_ns(slices[i]) - trace.end_ns(first[i]));
    offsets[rank] = upper_median(std::move(apart));
  }
  return offsets;
}

// Whether each collective has a moment at which all members run, with these offsets of the clocks.
bool run_together(const Trace& trace, const SlicesByRank& ranks, const std::map<std::int32_t, std::int64_t>& offsets) {
  for (std::size_t i = 0; i < ranks.begin()->second.size(); ++i) {
    std::int64_t last_start = std::numeric_limits<std::int64_t>::min();
    std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, slices] : ranks) {
      last_start = std::max(last_start, trace.start_ns()[slices[i]] - offsets.at(rank));
      first_end = std::min(first_end, trace.end_ns(slices[i]) - offsets.at(rank));
    }
    if (last_start > first_end) return false;
  }
  return true;
}

bool run_together(const Trace& trace, const SlicesByRank& ranks) {
  std::map<std::int32_t, std::int64_t> as_read;
  for (const auto& [rank, slices] : ranks) as_read[rank] = 0;
  return run_together(trace, ranks, as_read) || run_together(trace, ranks, offsets_by_ends(trace, ranks));
}

void add_matches(const Trace& trace, const SlicesByRank& ranks, Matching& result) {
  GroupRecord group;
  group.description = assumed_group_description();
  for (const auto& [rank, slices] : ranks) group.ranks.push_back(rank);
  // A second stream of all ranks is a communicator of its own.
  group.name = intern("assumed " + std::to_string(result.assumed_groups.size()));
  const auto index = static_cast<std::uint32_t>(result.assumed_groups.size());
  result.assumed_groups.push_back(std::move(group));
  for (std::size_t i = 0; i < ranks.begin()->second.size(); ++i) {
    Match match{.basis = MatchBasis::assumed, .group = index, .sequence = i, .members = {}};
    for (const auto& [rank, slices] : ranks) match.members.push_back({rank, slices[i]});
    match.collective = collective_of_kernel(name_of(trace.name(match.members.front().slice)));
    result.matches.push_back(std::move(match));
  }
}

// Why the ranks' sequences cannot be one; nullptr: they can.
const char* fault_of(const Trace& trace, const SlicesByRank& ranks) {
  if (!run_same_kernels(trace, ranks)) return "no communicator recorded, and ranks run different kernels";
  if (!run_together(trace, ranks)) return "no communicator recorded, and ranks run them at different times";
  return nullptr;
}

}  // namespace

std::int32_t num_ranks_of_job(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  auto num = static_cast<std::int32_t>(ranks.size());
  if (const auto said = trace.metadata.find("world_size"); said != trace.metadata.end()) {
    std::int32_t world = 0;
    std::from_chars(said->second.data(), said->second.data() + said->second.size(), world);
    num = std::max(num, world);
  }
  return num;
}

NameId assumed_group_description() { return intern("all ranks, assumed from the order"); }

void match_assumed(const Trace& trace, const SlicesByRank& by_start, Matching& result) {
  if (by_start.empty()) return;
  const auto refuse = [&](const char* reason) { result.unmatched[reason] += result.slices; };
  if (by_start.size() == 1 || static_cast<std::int32_t>(by_start.size()) != num_ranks_of_job(trace))
    return refuse("no communicator recorded, and not every rank is in the trace");
  const char* fault = fault_of(trace, by_start);
  if (fault == nullptr) return add_matches(trace, by_start, result);
  const std::vector<SlicesByRank> streams = by_stream(trace, by_start);
  if (streams.size() < 2 ||
      std::ranges::any_of(streams, [&](const SlicesByRank& s) { return fault_of(trace, s) != nullptr; }))
    return refuse(fault);
  for (const SlicesByRank& stream : streams) add_matches(trace, stream, result);
}

}  // namespace underlap::analysis
