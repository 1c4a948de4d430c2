// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"

namespace underlap::check {

/// Proves of one rank, by its own streams and events alone, that no two conflicting uses are unordered, that nothing is
/// read which nobody wrote, and that buffers are used between their acquire and their release.
///
/// A missing order is reported once: for the first command that needs it, with the last that it must come after. What
/// follows is judged as though the order were there.
std::vector<Finding> check_memory(std::span<const ProgramIndex> ranks, std::int32_t rank);

}  // namespace underlap::check
