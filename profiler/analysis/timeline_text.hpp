// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Which step a text timeline shows, and how wide.
struct TimelineRequest {
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int32_t width = 100;        ///< columns of a whole line, at least 40
  std::vector<Window> steps = {};  ///< of a trace without marks
};

/// Draws one step as text: one row per rank and stream, a time axis in milliseconds, a legend.
///
///     rank 0 compute | ######################## |
///     rank 0 dp      |!!! =====  =====  =====!! |
///
/// `#` compute, `=` communication under compute of its rank, `!` exposed communication, `.` copies. A cell with any
/// exposed communication is `!`, so that it never vanishes; one that is idle for more than half is blank; any other
/// takes the first of `=`, `#`, `.` that it holds. Exposed time per rank stands below in numbers.
/// Throws std::invalid_argument where no rank has that step in that block (naming those that there are), or for a width
/// below 40.
std::string text_timeline(const Trace&, const TimelineRequest&);

}  // namespace underlap::analysis
