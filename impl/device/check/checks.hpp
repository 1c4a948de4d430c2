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

/// Whether the calls of all communicators, in the order in which each rank's host enqueues them, agree with one order
/// of all transfers. Without such an order ranks may fill their multiprocessors or hardware queues with transfers that
/// wait for each other; NCCL asks for it of communicators that are used at the same time.
///
/// Calls that exchange something are one node of that order. At most one finding.
std::vector<Finding> check_issue_order(std::span<const ProgramIndex> ranks, const Matching& matching);

/// Proves for one rank, by its own streams and events alone: all conflicting uses are ordered, every read follows a
/// write, and buffers are used between their acquire and their release.
///
/// A missing order is reported once: for the first command that needs it, with the last that it must come after. Later
/// commands are checked as if the order existed.
std::vector<Finding> check_memory(std::span<const ProgramIndex> ranks, std::int32_t rank);

/// Checks that the members of each data-parallel group do the same: equal commands on equal streams, with equal tags
/// and orders, on views of equal shape. Only the position of a view in its tensor may differ. This also finds a range
/// that one rank declares too small, even if no order of commands reveals it.
///
/// A group is data-parallel if a transfer of mode dp uses its communicator. Members are compared only if they have the
/// same index in their groups of all other modes: splitting a sequence or a model gives ranks different work. Commands
/// before the first step are not compared, because each rank initializes its own part.
std::vector<Finding> check_symmetry(std::span<const ProgramIndex> ranks, const Matching& matching);

/// Whether `later` starts only after `earlier`, a command of the same rank, has ended, by the orders of all ranks
/// together: streams, events, hosts, and data that comes from a peer. A receive comes after its send has started, a
/// collective after it has started on every member (a broadcast: on its root).
bool is_ordered_by_peers(std::span<const ProgramIndex> ranks, const Matching& matching, const CommandPlace& earlier,
                         const CommandPlace& later);

}  // namespace underlap::check
