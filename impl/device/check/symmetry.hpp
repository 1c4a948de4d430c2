// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"
#include "impl/device/program_matching.hpp"

namespace underlap::check {

/// Checks that the members of each data-parallel group do the same: equal commands on equal streams, with equal tags
/// and orders, on views of equal shape. Only the position of a view in its tensor may differ. This also finds a range
/// that one rank declares too small, even if no order of commands reveals it.
///
/// A group is data-parallel if a transfer of mode dp uses its communicator. Members are compared only if they have the
/// same index in their groups of all other modes: splitting a sequence or a model gives ranks different work. Commands
/// before the first step are not compared, because each rank initializes its own part.
std::vector<Finding> check_symmetry(std::span<const ProgramIndex> ranks, const Matching& matching);

}  // namespace underlap::check
