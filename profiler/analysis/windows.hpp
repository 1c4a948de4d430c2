// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The windows of each rank, in order of their ends.
std::map<std::int32_t, std::vector<Window>> windows_by_rank(std::span<const Window>);

/// Of one rank's windows, in order of their ends, the one that begins before `end_ns` and ends then or later; nullptr:
/// none.
const Window* window_of_end(std::span<const Window>, std::int64_t end_ns);

/// The slices of each rank that are work of a device, in order of their starts.
std::map<std::int32_t, std::vector<std::uint32_t>> work_by_rank(const Trace&);

}  // namespace underlap::analysis
