// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/formats/pftrace/events.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats::pftrace {

/// A start event with its end event.
struct PairedSlice {
  std::uint32_t event = 0;  ///< the start event, as index into Events::events
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  bool has_child = false;  ///< another slice of its track lies in it
};

/// Pairs the start and end events of each track, which name only their track. Counts events without a partner.
///
/// - A track on which each end directly follows its start in the file is paired in that order.
/// - A track in the order of time is paired as a stack.
/// - Any other track is sorted by time first. Fails for a slice without duration inside another one on such a track: it
///   takes the end of the other one.
///
/// If a start event repeats both times as arguments, the arguments are used. Throws Cancelled.
std::vector<PairedSlice> pair_slices(Events&, const Reading&);

}  // namespace underlap::formats::pftrace
