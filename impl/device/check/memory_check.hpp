// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"

namespace underlap::check {

/// Proves for one rank, by its own streams and events alone: all conflicting uses are ordered, every read follows a
/// write, and buffers are used between their acquire and their release.
///
/// A missing order is reported once: for the first command that needs it, with the last that it must come after. Later
/// commands are checked as if the order existed.
std::vector<Finding> check_memory(std::span<const ProgramIndex> ranks, std::int32_t rank);

}  // namespace underlap::check
