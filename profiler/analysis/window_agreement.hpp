// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace underlap::analysis {

/// How two measurements of the same windows of one run agree: cut from its trace, and timed by separate events. Both
/// include the cost of tracing, so only a comparison of two runs shows that cost.
struct WindowAgreement {
  std::size_t count = 0;
  double median_ratio = 1;      ///< traced to timed; away from 1: the two clocks, or where they cut, differ
  double worst_ratio = 1;       ///< the one furthest from 1, as a factor either way
  std::size_t worst_index = 0;  ///< whose it is
};

/// Compares window by window. The mean of the two middle ratios is the median of an even number.
///
/// traced_ns, timed_ns   lengths of the same windows in the same order
/// Throws std::invalid_argument where their numbers differ, there is none, or a length is not positive.
WindowAgreement compare_windows(std::span<const std::int64_t> traced_ns, std::span<const std::int64_t> timed_ns);

}  // namespace underlap::analysis
