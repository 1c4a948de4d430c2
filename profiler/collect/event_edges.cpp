// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/event_edges.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

namespace underlap {

EventEdges::StreamState& EventEdges::state(std::uint32_t stream) {
  if (streams_.size() <= stream) streams_.resize(stream + 1);
  return streams_[stream];
}

void EventEdges::add_operation(std::uint32_t stream, std::uint64_t position) {
  StreamState& to = state(stream);
  const auto index = static_cast<std::uint32_t>(to.positions.size());
  to.positions.push_back(position);
  for (const Place& from : to.waits) edges_.push_back({from, {stream, index}, FlowKind::dependency});
  to.waits.clear();
}

void EventEdges::add_wait(std::uint32_t stream, std::uint32_t awaited_stream, std::uint64_t position) {
  if (stream == awaited_stream) return;
  const StreamState& awaited = state(awaited_stream);
  const auto after = std::ranges::upper_bound(awaited.positions, position);
  if (after == awaited.positions.begin()) return;
  const auto last = static_cast<std::uint32_t>(after - awaited.positions.begin() - 1);
  StreamState& to = state(stream);
  if (to.known.size() <= awaited_stream) to.known.resize(awaited_stream + 1, -1);
  if (to.known[awaited_stream] >= last) return;
  to.known[awaited_stream] = last;
  to.waits.push_back({awaited_stream, last});
}

void EventEdges::append_flows(Trace& trace, std::span<const std::vector<std::uint32_t>> slices) const {
  const auto slice_of = [&](const Place& place) {
    const bool is_known = place.stream < slices.size() && place.index < slices[place.stream].size();
    return is_known ? slices[place.stream][place.index] : kNoSlice;
  };
  const auto first = static_cast<std::ptrdiff_t>(trace.flows.size());
  trace.flows.reserve(trace.flows.size() + edges_.size());
  for (const Edge& edge : edges_) {
    const std::uint32_t from = slice_of(edge.from), to = slice_of(edge.to);
    if (from != kNoSlice && to != kNoSlice) trace.flows.push_back({from, to, edge.kind});
  }
  const std::ranges::subrange added(trace.flows.begin() + first, trace.flows.end());
  std::ranges::sort(added, {}, [](const Flow& flow) {
    return std::tuple(flow.to, flow.from, flow.kind != FlowKind::host, flow.kind);
  });
  const auto repeated = std::ranges::unique(added, {}, [](const Flow& flow) { return std::pair(flow.to, flow.from); });
  trace.flows.erase(repeated.begin(), repeated.end());
}

// Memory stays allocated for the next block.
void EventEdges::clear() {
  for (StreamState& stream : streams_) {
    stream.positions.clear();
    stream.waits.clear();
    stream.known.clear();
  }
  edges_.clear();
}

}  // namespace underlap
