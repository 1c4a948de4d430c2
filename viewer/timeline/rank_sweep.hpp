// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "profiler/trace/trace.hpp"
#include "viewer/timeline/lane_segments.hpp"

namespace underlap::viewer {

/// What of one communication slice ran under no compute of its rank. Nanoseconds.
struct ExposedSlice {
  std::uint32_t slice = 0;
  std::int64_t wait_ns = 0;      ///< before the last member arrived
  std::int64_t transfer_ns = 0;  ///< after it
  std::int64_t unsplit_ns = 0;   ///< where that is not known

  std::int64_t exposed_ns() const { return wait_ns + transfer_ns + unsplit_ns; }
};

/// A row of work that does not overlap: indices of slices by start, all of one rank.
using WorkRow = std::span<const std::uint32_t>;

/// What one rank's work is at each moment.
struct RankPicture {
  std::vector<Segments> rows;         ///< of each row: its slices, of communication how much is exposed
  Segments strip;                     ///< the rank: compute, hidden, exposed by modes, copies alone; idle is a gap
  std::vector<ExposedSlice> exposed;  ///< by number of the slice
};

/// Splits a rank's time as analysis::Split does: the lengths in `strip` are its parts, to the nanosecond.
/// Times of the picture are those of the trace less `origin_ns`.
RankPicture sweep_rank(const Trace&, std::span<const WorkRow> rows, std::int64_t origin_ns);

}  // namespace underlap::viewer
