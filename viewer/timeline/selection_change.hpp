// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "viewer/timeline/selection.hpp"

namespace underlap::viewer {

/// The parts of two selections and their differences, a row each: compute, copies alone, idle, communication, and of
/// that by mode what is exposed, waits and transfers. Means of the ranks of either side.
analysis::FigureTable parts_change(const Selection& baseline, const Selection& candidate);

/// The names in either of two selections, those first whose time differs most.
analysis::FigureTable names_change(const Selection& baseline, const Selection& candidate, std::size_t most);

}  // namespace underlap::viewer
