// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"
#include "impl/device/program_matching.hpp"

namespace underlap::check {

/// Whether the calls of all communicators, in the order in which each rank's host enqueues them, agree with one order
/// of all transfers. Without such an order ranks may fill their multiprocessors or hardware queues with transfers that
/// wait for each other; NCCL asks for it of communicators that are used at the same time.
///
/// Calls that exchange something are one node of that order. At most one finding.
std::vector<Finding> check_issue_order(std::span<const ProgramIndex> ranks, const Matching& matching);

}  // namespace underlap::check
