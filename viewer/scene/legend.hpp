// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QRect>
#include <cstdint>

#include "viewer/lanes/palette.hpp"
#include "viewer/lanes/surface.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The modes that communicate in a timeline, each a bit.
std::uint8_t modes_of(const Timeline&);

/// A row of colours, each with its word: what work is, how communication is shown, and the colours of these modes.
/// What has no room is left out.
void paint_legend(Surface&, const QRect& where, std::uint8_t modes, const Palette&, double scale, const QFont&);

}  // namespace underlap::viewer
