// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>
#include <optional>

#include "profiler/attribution/mode_map.hpp"
#include "viewer/theme/theme.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// Parses "12ms..18.5ms", "0.2s..0.4s", "step 3" (a step's number), or "all". Throws std::invalid_argument that
/// explains the format.
struct RangeRequest {
  std::optional<TimeRange> time;
  std::optional<std::int32_t> step;
  bool is_all = false;
};
RangeRequest parse_range(const std::string& text);

/// A picture to make without a window.
struct RenderRequest {
  std::string output;               ///< .png or .svg; of a chart .csv too
  std::vector<std::string> inputs;  ///< a trace, a run, or two of these: the baseline first
  std::optional<RangeRequest> range = {};
  std::string chart = {};              ///< its name; empty: the timeline, or of a run its matrix
  std::string cell = {};               ///< of runs: the timeline, the chart or the comparison of this cell
  attribution::ModeMap mode_map = {};  ///< assigns modes in every trace
  std::optional<QSize> size = {};      ///< pixels of a plain screen; absent: as high as what there is
  double scale = 1;
  const Theme* theme = &Theme::light();
  bool is_forced = false;  ///< compares what is not comparable
};

/// Makes the picture. Throws std::invalid_argument for what cannot be read or drawn, saying what can; MachineError
/// where the file cannot be written.
void render(const RenderRequest&);

}  // namespace underlap::viewer
