// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QRect>
#include <QString>

#include "viewer/lanes/palette.hpp"
#include "viewer/lanes/surface.hpp"
#include "viewer/timeline/pieces.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// A place on a ruler of time.
struct Tick {
  std::int64_t time_ns = 0;
  QString text;
};

/// Ticks at 1, 2 or 5 times a power of ten, at least `least_px` apart: "12.35 ms". Those of one ruler have one unit and
/// enough digits to differ.
std::vector<Tick> ticks_of(const View&, double least_px);

/// A moment, to the pixel: in the unit of the ruler's ticks, with enough digits to distinguish two pixels.
QString moment_text(double time_ns, double ns_per_pixel);

/// Times, counted from `origin_ns` on. A tick near the right end, where its text would be cut, has none.
void paint_time_ruler(Surface&, const QRect& where, const View&, double origin_ns, const Palette&, double scale,
                      const QFont&);
/// The steps of one rank: number and length, with fewer digits or none where there is less room. Paler what is of none.
void paint_step_ruler(Surface&, const QRect& where, const View&, std::span<const StepSpan> steps,
                      const std::vector<TimeRange>& uncounted, const Palette&, double scale, const QFont&);

/// The steps of one rank as a thin band, without text: nothing where they are narrower than a few pixels, or look like
/// those in the ruler.
void paint_step_band(Surface&, const QRect& where, const View&, std::span<const StepSpan> steps,
                     std::span<const StepSpan> in_ruler, const Palette&);

}  // namespace underlap::viewer
