// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/timeline/lane_segments.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The part of time that a picture shows.
struct View {
  double begin_ns = 0;
  double ns_per_pixel = 1;
  int width = 0;  ///< pixels

  double end_ns() const { return begin_ns + ns_per_pixel * width; }
  double x_of(double time_ns) const { return (time_ns - begin_ns) / ns_per_pixel; }
  double time_of(double x) const { return begin_ns + x * ns_per_pixel; }
  friend bool operator==(const View&, const View&) = default;
};

/// A piece of a lane's picture: a segment that is at least a pixel wide, or a pixel with all that begins in it.
struct Piece {
  float left = 0;  ///< pixels
  float right = 0;
  Shade base;                          ///< what takes most of it; nothing where all of it is exposed
  float coverage = 1;                  ///< of the base, share of the width
  Shade exposed;                       ///< empty if nothing is exposed
  float exposed_share = 0;             ///< of the width, 0 to 1
  std::uint32_t segment = kNoSegment;  ///< where it is wide and divided (Segments::is_divided())

  static constexpr std::uint32_t kNoSegment = ~std::uint32_t{0};
};

/// The picture of a lane: at most as many pieces as pixels and segments. A segment of exposed communication, however
/// short, is in the `exposed` of one. Replaces what `pieces` holds.
void find_pieces(const Segments&, const View&, std::vector<Piece>& pieces);

/// The picture of a row of a lane. Communication that is wide enough is divided into hidden parts, waits and
/// transfers. Replaces what `pieces` holds.
void find_pieces(const Timeline&, const Lane&, const LaneRow&, const View&, std::vector<Piece>& pieces);

}  // namespace underlap::viewer
