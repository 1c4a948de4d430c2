// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// A compute slice during communication, compared with launches of the same kernel on its rank without communication.
struct Slowdown {
  std::int64_t beside_ns = 0;  ///< the part of the slice that ran during communication
  std::int64_t num_alone = 0;  ///< launches that ran without communication
  double median_alone_ns = 0;  ///< of their durations; 0 where there are none
};

/// analysis::Launch decides which launches are compared. Returns nothing if the slice is not compute, or if less than
/// half of it ran during communication. Visits all slices of its rank: fast enough for a click, not for a frame.
std::optional<Slowdown> slowdown_of(const Timeline&, std::uint32_t slice);

}  // namespace underlap::viewer
