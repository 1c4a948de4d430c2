// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"
#include "impl/device/program_matching.hpp"

namespace underlap::check {

/// Throws std::invalid_argument unless the n-th program is rank n's, and every group's members have programs.
void require_all_ranks(std::span<const Program> programs);

/// Finds declarations that members do not share, transfers that are illegal by themselves, that do not match each
/// other, or whose other side never comes. For each channel only the first mismatch is reported: later ones are its
/// consequences.
std::vector<Finding> check_matching(std::span<const ProgramIndex> ranks, const Matching& matching);

}  // namespace underlap::check
