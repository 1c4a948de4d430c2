// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::compare {

/// A slice of work within a window. Nanoseconds.
struct OwnedSlice {
  std::size_t slice = 0;
  std::int64_t busy_ns = 0;   ///< of its duration, inside the window
  std::int64_t own_ns = 0;    ///< what of the window is its own
  bool ends_here = false;     ///< false: it ends in a later window, or after the last
  bool began_before = false;  ///< an earlier window has a part of it
};

/// A window of one rank, shared out: own_ns of all slices and idle_ns sum to its length.
struct OwnedWindow {
  std::vector<OwnedSlice> slices;  ///< in the order of their starts
  std::int64_t idle_ns = 0;
};

/// Gives every instant of each window to one slice: to the compute kernel that began last of those that run, else to
/// the communication that did (which is exposed), else to the copy that did; else it is idle. `windows` are of one
/// rank, sorted, and do not overlap.
std::vector<OwnedWindow> share_out(const Trace& trace, std::span<const std::size_t> slices_of_rank,
                                   std::span<const analysis::Window> windows);

}  // namespace underlap::compare
