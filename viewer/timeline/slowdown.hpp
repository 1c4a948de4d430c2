// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// A compute slice beside communication, against launches of the same kernel on its rank with none beside them.
struct Slowdown {
  std::int64_t beside_ns = 0;  ///< of the slice, what ran beside communication
  std::int64_t num_alone = 0;  ///< launches that ran beside none
  double median_alone_ns = 0;  ///< of their durations; 0 where there are none
};

/// Which launches are compared says analysis::Launch. Nothing where the slice is no compute, or not even half of it ran
/// beside communication. Takes time with the slices of its rank: for a click, not for a frame.
std::optional<Slowdown> slowdown_of(const Timeline&, std::uint32_t slice);

}  // namespace underlap::viewer
