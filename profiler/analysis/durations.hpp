// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// When each rank computes.
std::map<std::int32_t, IntervalSet> compute_by_rank(const Trace&);

/// A place of the model: pipeline stage (-1 for a layer's, which is what it is on whichever stage), purpose, layer,
/// microbatch.
using Place = std::tuple<std::int32_t, NameId, std::int32_t, std::int32_t>;

Place place_of(std::int32_t stage, const Tag& tag);

/// What places take in a step, nanoseconds: several medians of each, of ranks or of blocks.
using PlaceTimes = std::map<Place, std::vector<double>>;

/// For each rank of `windows` the median over its windows of a place's total in the step: of all slices that are tagged
/// with the step. `ranks_of_a_stage`: a rank's stage is its number divided by that.
PlaceTimes place_times(const Trace& trace, std::span<const Window> windows, std::int32_t ranks_of_a_stage);

/// Adds each value of `more` to its place.
void append(PlaceTimes& times, const PlaceTimes& more);

/// One value of each place: the median of those that it has.
PlaceTimes medians(const PlaceTimes& times);

/// The transfers that met no compute of their rank between the last arrival and their end, summed.
struct TransfersAlone {
  std::int64_t count = 0;
  std::int64_t bytes_on_wire = 0;
  std::int64_t ns = 0;  ///< from the last arrival to the end

  /// Bytes on the wire per nanosecond, where each transfer takes `latency_ns` besides. Nullopt without transfers.
  std::optional<double> rate(double latency_ns) const;

  TransfersAlone& operator+=(const TransfersAlone& other);
  friend bool operator==(const TransfersAlone&, const TransfersAlone&) = default;
};

/// Those of a trace whose last arrival is known.
TransfersAlone transfers_alone(const Trace& trace);

}  // namespace underlap::analysis
