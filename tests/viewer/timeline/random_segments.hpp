// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "viewer/timeline/segments.hpp"

namespace underlap::viewer::testing_support {

/// `count` segments of all paints, some touching, some far apart, lengths from 1 to `longest_ns`.
inline Segments random_segments(std::mt19937& random, std::size_t count, std::int64_t longest_ns) {
  Segments segments;
  std::int64_t now = std::uniform_int_distribution<std::int64_t>(0, 100)(random);
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = std::uniform_int_distribution<std::int64_t>(1, longest_ns)(random);
    const auto paint = static_cast<Paint>(std::uniform_int_distribution<int>(1, kNumPaints - 1)(random));
    const bool communicates = paint >= Paint::hidden;
    const auto mode = static_cast<Mode>(std::uniform_int_distribution<int>(0, 7)(random));
    segments.add(now, now + length, {paint, communicates ? bit_of(mode) : std::uint8_t{0}});
    now += length + (i % 3 == 0 ? 0 : std::uniform_int_distribution<std::int64_t>(0, 3 * longest_ns)(random));
  }
  segments.finish();
  return segments;
}

}  // namespace underlap::viewer::testing_support
