// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/page/timeline_svg.hpp"
#include "profiler/trace/tag.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::page {

/// How a piece of a lane is drawn; of two at the same place the later one is on top.
enum class Look : std::uint8_t { compute, copy, hidden, exposed, exposed_transfer, exposed_wait };
inline constexpr std::size_t kNumLooks = 6;

/// A part of a slice, or several short ones that are too close to be seen apart. Nanoseconds from the start of the
/// axis.
struct LanePiece {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t busy_ns = 0;  ///< shorter than the piece if there are gaps between several
  std::uint32_t slice = 0;   ///< the first
  std::uint32_t count = 1;
};

/// The pieces of a lane that look the same, by start.
struct LanePieces {
  Look look = Look::compute;
  Mode mode = Mode::none;
  std::vector<LanePiece> pieces;
};

/// The work of one stream in its rank's window.
struct Lane {
  std::int32_t rank = 0;
  std::string label;
  std::vector<LanePieces> groups;  ///< by look, then mode
};

/// The lanes of one step.
struct Lanes {
  std::vector<Lane> lanes;     ///< by rank, then stream
  std::int64_t length_ns = 0;  ///< of the axis: from the first start of a rank's window to the last end
  std::size_t num_ranks = 0;   ///< that have the step; lanes may be of fewer
  std::size_t shown_ranks = 0;
  std::size_t left_out = 0;  ///< streams of shown ranks without a lane: the least busy ones
};

/// The lanes of a step with at most `most_pieces` pieces, as long as merging can reach that. Pieces below the
/// resolution are merged with their neighbors. The resolution is a `finest`-th of the axis, coarser if that gives too
/// many pieces.
Lanes find_lanes(const Trace&, const TimelineSvgRequest&, std::int64_t finest, std::size_t most_pieces);

}  // namespace underlap::page
