// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

/// Writes into every slice of a row that is wide enough for some letters what it is: its purpose, or else its name.
void write_labels(const LaneRow&, const QRect& where, const LaneContext&);

}  // namespace underlap::viewer
