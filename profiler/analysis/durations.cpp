// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/durations.hpp"

#include <algorithm>
#include <utility>

#include "platform/numbers/median.hpp"
#include "profiler/trace/communication_parts.hpp"

namespace underlap::analysis {
namespace {

bool meets(const IntervalSet& set, const Interval& interval) {
  const auto behind = std::upper_bound(set.intervals().begin(), set.intervals().end(), interval.begin,
                                       [](std::int64_t at, const Interval& i) { return at < i.end; });
  return behind != set.intervals().end() && behind->begin < interval.end;
}

}  // namespace

std::map<std::int32_t, IntervalSet> compute_by_rank(const Trace& trace) {
  std::map<std::int32_t, std::vector<Interval>> slices;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).kind == Kind::compute)
      slices[trace.track_of(i).rank].push_back({trace.start_ns()[i], trace.end_ns(i)});
  std::map<std::int32_t, IntervalSet> sets;
  for (auto& [rank, intervals] : slices) sets[rank] = IntervalSet(std::move(intervals));
  return sets;
}

Place place_of(std::int32_t stage, const Tag& tag) {
  return {tag.layer < 0 ? stage : -1, tag.purpose, tag.layer, tag.microbatch};
}

PlaceTimes place_times(const Trace& trace, std::span<const Window> windows, std::int32_t ranks_of_a_stage) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::map<Place, double>> by_step;  // (rank, step)
  for (const Window& window : windows) by_step[{window.rank, window.step}];
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int32_t rank = trace.track_of(i).rank;
    const auto step = by_step.find({rank, trace.tag(i).step});
    if (step == by_step.end()) continue;
    step->second[place_of(rank / ranks_of_a_stage, trace.tag(i))] += static_cast<double>(trace.duration_ns()[i]);
  }
  std::map<std::pair<std::int32_t, Place>, std::vector<double>> totals;  // by rank
  for (const auto& [step, places] : by_step)
    for (const auto& [place, ns] : places) totals[{step.first, place}].push_back(ns);
  PlaceTimes times;
  for (auto& [key, values] : totals) times[key.second].push_back(median(std::move(values)));
  return times;
}

void append(PlaceTimes& times, const PlaceTimes& more) {
  for (const auto& [place, values] : more) {
    std::vector<double>& own = times[place];
    own.insert(own.end(), values.begin(), values.end());
  }
}

PlaceTimes medians(const PlaceTimes& times) {
  PlaceTimes result;
  for (const auto& [place, values] : times) result[place] = {median(values)};
  return result;
}

std::optional<double> TransfersAlone::rate(double latency_ns) const {
  const double without_latency = static_cast<double>(ns) - static_cast<double>(count) * latency_ns;
  if (bytes_on_wire <= 0 || without_latency <= 0) return std::nullopt;
  return static_cast<double>(bytes_on_wire) / without_latency;
}

TransfersAlone& TransfersAlone::operator+=(const TransfersAlone& other) {
  count += other.count;
  bytes_on_wire += other.bytes_on_wire;
  ns += other.ns;
  return *this;
}

TransfersAlone transfers_alone(const Trace& trace) {
  const std::map<std::int32_t, IntervalSet> compute = compute_by_rank(trace);
  const CommunicationParts parts(trace);
  TransfersAlone alone;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const CommunicationRecord* record = trace.communication(i);
    if (record == nullptr || record->is_part || record->last_arrival_ns < 0) continue;
    const std::int64_t start = std::max(record->last_arrival_ns, trace.start_ns()[i]);
    const auto of_rank = compute.find(trace.track_of(i).rank);
    const std::int64_t end = parts.end_ns(i);
    if (of_rank != compute.end() && meets(of_rank->second, {start, end})) continue;
    alone += {.count = 1, .bytes_on_wire = record->bytes_on_wire(), .ns = end - start};
  }
  return alone;
}

}  // namespace underlap::analysis
