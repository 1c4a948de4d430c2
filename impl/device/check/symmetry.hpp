// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"
#include "impl/device/matching.hpp"

namespace underlap::check {

/// Whether the members of each data-parallel group do the same: equal commands on equal streams, with equal tags and
/// orders, on views of equal shape. Only where a view lies in its tensor may differ. A range that one rank declares too
/// small is found by this even where no order of commands gives it away.
///
/// A group is data-parallel where a transfer of mode dp goes through its communicator. Of its members those are
/// compared that stand at the same place in their groups of all other modes: where a sequence or a model is cut, others
/// do other work. What comes before the first step is not compared either: each rank initialises its own part.
std::vector<Finding> check_symmetry(std::span<const ProgramIndex> ranks, const Matching& matching);

}  // namespace underlap::check
