// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/durations/place_times.hpp"

#include <utility>

#include "platform/numbers/median.hpp"

namespace underlap::analysis {
Place place_of(std::int32_t stage, const Tag& tag) {
  return {tag.layer < 0 ? stage : -1, tag.purpose, tag.layer, tag.microbatch};
}

PlaceTimes place_times(const Trace& trace, std::span<const Window> windows, std::int32_t ranks_of_a_stage) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::map<Place, double>> by_step;  // (rank, step)
  for (const Window& window : windows) by_step[{window.rank, window.step}];
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int32_t rank = trace.tracks[trace.track(i)].rank;
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

}  // namespace underlap::analysis
