// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/subset.hpp"

#include <iterator>

namespace underlap {

Trace subset(const Trace& trace, const std::function<bool(std::int32_t rank)>& has_rank,
             const std::function<bool(std::size_t slice)>& has_slice) {
  const auto is_wanted = [&](std::int32_t rank) { return !has_rank || has_rank(rank); };
  Trace part;
  part.groups = trace.groups;
  part.metadata = trace.metadata;
  std::vector<std::optional<std::uint32_t>> tracks;
  for (const Track& track : trace.tracks)
    tracks.push_back(is_wanted(track.rank) ? std::optional(part.add_track(track)) : std::nullopt);
  std::vector<std::optional<std::uint32_t>> slices(trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::optional<std::uint32_t> track = tracks[trace.track(i)];
    if (!track || (has_slice && !has_slice(i))) continue;
    slices[i] = static_cast<std::uint32_t>(part.size());
    Slice slice = trace.slice(i);
    slice.track = *track;
    if (const CommunicationRecord* record = trace.communication(i))
      part.add(slice, *record);
    else
      part.add(slice);
  }
  const auto of_wanted = [&](const auto& item) { return is_wanted(item.rank); };
  std::ranges::copy_if(trace.marks, std::back_inserter(part.marks), of_wanted);
  std::ranges::copy_if(trace.clocks, std::back_inserter(part.clocks), of_wanted);
  for (const CounterSample& sample : trace.counters)
    if (tracks[sample.track]) part.counters.push_back({*tracks[sample.track], sample.time_ns, sample.value});
  for (const Flow& flow : trace.flows)
    if (slices[flow.from] && slices[flow.to]) part.flows.push_back({*slices[flow.from], *slices[flow.to], flow.kind});
  return part;
}

}  // namespace underlap
