// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "profiler/analysis/split.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Whether a slice receives in a pipeline. Such a stage waits until the one before it has computed: that is the
/// pipeline's own order, and no peer that came late. Whether the peer kept to its schedule is not asked. A ring's
/// members do alike, so there a wait is a wait.
bool receives_in_pipeline(const Trace&, std::size_t slice);

/// Splits one window of one rank exactly, as bench/METRICS.md defines it; slices that cross the window are cut.
///
/// Only Tag::kind decides what a slice is. Communication with Mode::none counts as "unattributed", and so does
/// a missing purpose.
/// Looks at every slice of the trace: use split_windows for several windows.
/// Throws std::invalid_argument for a window that ends before it begins.
Split split_window(const Trace&, const Window&);

/// The same for many windows, in their order, in about the time of sorting the slices. The windows of one rank must
/// not overlap, as those of find_windows do not; throws std::invalid_argument where they do.
std::vector<Split> split_windows(const Trace&, std::span<const Window>);

}  // namespace underlap::analysis
