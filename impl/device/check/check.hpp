// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"

namespace underlap::check {

struct CheckOptions {
  /// Hardware queue counts to search for deadlocks with; 0: one queue for each stream
  std::vector<std::uint32_t> connections{0, 32, 8, 1};
  std::uint32_t launch_queue_depth = 1024;  ///< commands that a hardware queue holds before the host waits
};

/// The checked amounts and the problems found.
struct CheckReport {
  std::int64_t num_ranks = 0;
  std::int64_t num_operations = 0;  ///< launches, uploads and communications of all ranks
  std::int64_t num_waits = 0;       ///< orders between streams that results depend on
  std::int64_t num_exchanges = 0;   ///< transfers of all ranks, matched with each other
  std::vector<Finding> findings;    ///< folded: findings of one kind are merged
};

/// Checks that the programs of all ranks are correct, and returns the problems found. `programs[i]` is the program of
/// rank i, recorded with its uses (Detail::uses or more).
///
/// The checks: every transfer has matching transfers on its peers; no deadlock on devices with the given limits; all
/// ranks issue their transfers in one order; streams, events and host of each rank order all conflicting uses of
/// memory; every read follows a write; buffers are used between acquire and release; members of a data-parallel group
/// do the same. An order that only throttles counts as a wait in the search for deadlocks. It does not count in the
/// memory checks.
///
/// Throws std::invalid_argument for an invalid program: a group with an unknown rank, or a wait for a command that is
/// enqueued later.
CheckReport check_programs(std::span<const Program> programs, const CheckOptions& options = {});

}  // namespace underlap::check
