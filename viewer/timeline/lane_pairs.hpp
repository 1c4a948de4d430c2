// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The corresponding ranks of two timelines: by number, or in their order if no number is in both.
std::vector<std::pair<std::int32_t, std::int32_t>> rank_pairs(const Timeline&, const Timeline& other);

/// Strips and streams of one timeline, each with its counterpart in another: by index into Timeline::lanes().
///
/// For paired ranks, a rank's strip is paired with the strip, and a stream with the stream of its name. Otherwise a
/// stream is paired with an unpaired one that does the same: compute, or communication of the same modes.
std::map<std::size_t, std::size_t> lane_pairs(const Timeline&, const Timeline& other);

}  // namespace underlap::viewer
