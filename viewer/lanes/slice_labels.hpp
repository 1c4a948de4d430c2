// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {

/// Writes into every slice of a row that is wide enough for some letters what it is: its purpose, or else its name.
/// It stands within the widest part whose colour its own can be read on.
void write_labels(const LaneRow&, const QRect& where, const LaneContext&);

}  // namespace underlap::viewer
