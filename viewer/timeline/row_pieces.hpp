// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viewer/timeline/pieces.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The picture of a row of a lane, as find_pieces() has it, with communication that is wide enough divided into what of
/// it is hidden, waits and transfers, where that lies. Replaces what `pieces` holds.
void find_pieces(const Timeline&, const Lane&, const LaneRow&, const View&, std::vector<Piece>& pieces);

}  // namespace underlap::viewer
