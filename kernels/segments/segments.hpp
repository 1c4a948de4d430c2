// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// Consecutive tensors in a buffer, of which one rank holds a stretch: the input of multi-tensor kernels. A segment
/// ends at the start of the next, padding included, and the last at the end of the stretch.
struct Segments {
  View begins;             ///< [1, k] i32, ascending: where each begins, in units of kSegmentUnit elements
  std::int64_t first = 0;  ///< where the stretch begins, in elements; begins count from the same place
};

inline constexpr std::int64_t kSegmentUnit = 64;

/// out[s] = max(out[s], the largest |x| of segment s), as amax does for one tensor.
///
/// x    [1, n] f32, the stretch; it may begin and end inside a segment and need not overlap all of them
/// out  [1, k] f32, at least 0 or NaN
/// Throws std::invalid_argument for shapes that do not fit and a negative `first`. Traffic: x once.
Operation segmented_amax(const View& x, const Segments& segments, const View& out);

/// q = x * (1 / inverse_scale of its segment), as quantize does for one tensor.
///
/// x               [1, n] f32, the stretch
/// inverse_scales  [k, 1] f32; may be strided
/// q               [1, n] f8e4m3 or f8e5m2
/// What lies before the first segment takes the first one's scale. Throws std::invalid_argument for shapes that do not
/// fit and a negative `first`. Traffic: x and q once.
Operation segmented_quantize(const View& x, const Segments& segments, const View& inverse_scales, const View& q);

}  // namespace underlap::kernels
