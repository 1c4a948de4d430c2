// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"

namespace underlap::check {

struct CheckOptions {
  /// Numbers of hardware queues to look for deadlocks with; 0: one for each stream.
  std::vector<std::uint32_t> connections{0, 32, 8, 1};
  std::uint32_t launch_queue_depth = 1024;  ///< commands that a hardware queue holds before the host waits
};

/// What was looked at, and what is wrong with it.
struct CheckReport {
  std::int64_t num_ranks = 0;
  std::int64_t num_operations = 0;  ///< launches, uploads and communications of all ranks
  std::int64_t num_waits = 0;       ///< orders between streams that results depend on
  std::int64_t num_exchanges = 0;   ///< transfers of all ranks, matched with each other
  std::vector<Finding> findings;    ///< folded; those of one kind together
};

/// Proves the programs of all ranks right, or says what is wrong. `programs` holds rank i's at place i, with its uses
/// (Detail::uses or more).
///
/// Proved are: every transfer has its other sides, and they fit; no deadlock on devices of the given limits; one order
/// in which all ranks issue their transfers; by each rank's own streams, events and host, no two conflicting uses of
/// memory without an order; nothing read that nobody wrote; buffers used between acquire and release; members of a
/// data-parallel group that do the same. An order that only throttles counts as a wait where deadlocks are looked for,
/// and as nothing where memory is.
///
/// Throws std::invalid_argument where programs are no programs: a group with a rank that there is none of, a wait for
/// what is enqueued later.
CheckReport check_programs(std::span<const Program> programs, const CheckOptions& options = {});

}  // namespace underlap::check
