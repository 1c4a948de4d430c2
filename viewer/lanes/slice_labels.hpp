// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

/// Writes a label into every slice of a row that is wide enough for some letters: its purpose, or else its name. The
/// label is in the widest part on whose color it is readable.
void write_labels(const LaneRow&, const QRect& where, const LaneContext&);

}  // namespace underlap::viewer
