// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// One measured step of one rank: from the mark that ends the step before it to the mark that ends it.
struct Window {
  std::int32_t rank = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;  ///< the step that ends with the window
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  std::int64_t length_ns() const { return end_ns - begin_ns; }
  friend bool operator==(const Window&, const Window&) = default;
};

/// The windows of a trace, and what is wrong with its marks.
struct WindowList {
  std::vector<Window> windows;      ///< by rank, then block, then time
  std::vector<std::string> errors;  ///< one line each; the marks of that (rank, block) bound no window
};

/// Finds the windows between successive marks of one rank and block.
///
/// Marks are taken in the order of the trace. A block of a rank whose marks go back in time or step, repeat a step or
/// leave one out gives no windows and one error: which of its marks is the wrong one cannot be known.
WindowList find_windows(const Trace&);

/// The ranks that have a track or a mark, in ascending order.
std::vector<std::int32_t> ranks_of(const Trace&);

/// The slices of each rank that are work of a device, in order of their starts.
std::map<std::int32_t, std::vector<std::uint32_t>> work_by_rank(const Trace&);

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
