// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::page {

/// Which step a timeline shows.
struct TimelineSvgRequest {
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int32_t width = 1100;                   ///< pixels, at least 400
  std::vector<analysis::Window> windows = {};  ///< of a trace without marks
  std::size_t most_ranks = 16;                 ///< of more ranks those with the least and the most exposed time
  const analysis::Communications* communications =
      nullptr;  ///< with the offsets of the ranks' clocks; null: found here
};

/// One step as an SVG element that needs nothing else: one lane for each rank and stream, an axis in milliseconds, a
/// legend. Compute is gray, hidden communication pale, exposed communication in the full color of its mode, and hatched
/// where it waits for another rank. A tooltip has the name and the duration. It has a light and a dark color scheme.
///
/// The element has class "underlap-timeline". The work is in an inner <svg class="plot">, whose viewBox page.js changes
/// to zoom. Pieces that 20x zoom would not show are merged, so a step of 100,000 kernels takes less than 2 MB.
/// Throws std::invalid_argument if no rank has that step, or for a width below 400.
std::string timeline_svg(const Trace&, const TimelineSvgRequest&);

}  // namespace underlap::page
