// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/trace/rank_layout.hpp"

namespace underlap::attribution {

/// The modes that communication in a group of these ranks may have: where the ranks differ in one digit of a layout the
/// digit's, where they are those of a joint group the group's. Mode::other: the ranks of several modes that communicate
/// together. Empty for a group of one, and for ranks that the layouts do not have.
std::vector<Mode> modes_of_ranks(std::span<const std::int32_t> ranks, const RankLayouts&);

/// The same where only the number of the group's ranks is known.
std::vector<Mode> modes_of_size(std::int32_t num_ranks, const RankLayouts&);

/// The same where nothing is known of the group: every mode of more than one rank.
std::vector<Mode> modes_in_use(const RankLayouts&);

}  // namespace underlap::attribution
