// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QRect>

#include "viewer/lanes/palette.hpp"
#include "viewer/lanes/surface.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// What of communication a timeline shows.
struct LegendContent {
  std::uint8_t modes = 0;    ///< that communicate, each a bit
  bool has_wait = false;     ///< before the last member of a communication came
  bool has_unsplit = false;  ///< exposed, and when that member came is not known
};
LegendContent legend_of(const Timeline&);

/// A row of colors, each with its word: what work is, how communication is shown, and the colors of its modes.
/// What has no room is left out.
void paint_legend(Surface&, const QRect& where, const LegendContent&, const Palette&, double scale, const QFont&);

}  // namespace underlap::viewer
