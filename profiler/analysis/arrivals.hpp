// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// How the clocks of a trace's ranks lie to one another.
struct ClockAlignment {
  std::map<std::int32_t, std::int64_t> offset_ns;  ///< by rank: subtract it from the rank's times
  /// How far clocks may still be apart: 0 on one clock; else the largest distance of an end from the median end of its
  /// collective that alignment leaves, which holds the lateness of threads too. nullopt: neither is known.
  std::optional<std::int64_t> residual_ns;
  /// The same distance on one clock, where all of it is threads that learn late that their collective has ended.
  std::optional<std::int64_t> lateness_ns;
  std::int64_t num_collectives = 0;  ///< that both rest on
};

/// Aligns the ranks' clocks on the ends of collectives that nobody leaves before all have arrived and that end for all
/// at about one time: all-reduce, all-gather and reduce-scatter. Those of which a member is missing are passed over.
///
/// Ranks that read one clock keep it (offsets of 0): those whose clock snapshots say so, and those of a backend whose
/// time is virtual. Other ranks get the median difference of ends to a rank that is aligned already, beginning with the
/// lowest; without such a collective their offsets are 0. Offsets are 0 too where that brings the ends less than twice
/// as close as they are as read: such a correction is within its own residual.
ClockAlignment align_clocks(const Trace&);

/// Sets the last arrival of collectives that have none: the latest start among the members, on each rank's own clock.
/// Sends, receives and collectives of which a member is missing keep none. A wait below the alignment's residual is
/// not resolved. Returns how many slices were given one.
std::int64_t find_arrivals(Trace&, const ClockAlignment&);

}  // namespace underlap::analysis
