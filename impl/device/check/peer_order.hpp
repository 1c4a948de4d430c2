// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "impl/device/check/finding.hpp"
#include "impl/device/program_matching.hpp"

namespace underlap::check {

/// Whether `later` starts only after `earlier`, a command of the same rank, has ended, by the orders of all ranks
/// together: streams, events, hosts, and data that comes from a peer. A receive comes after its send has started, a
/// collective after it has started on every member (a broadcast: on its root).
bool is_ordered_by_peers(std::span<const ProgramIndex> ranks, const Matching& matching, const CommandPlace& earlier,
                         const CommandPlace& later);

}  // namespace underlap::check
