// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/texts.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Threads that one operation of a host rank may use: its share of the cores that this process may use, which so many
/// of the configuration's ranks do.
int compute_threads(const plan::Config& config, std::int32_t num_sharing = kAllRanks);

// Everywhere: `own`: the cells that are in memory at the same time, as indices of `cells`.

/// Bytes of this machine's memory that the tensors of these cells need together, as their plans predict: more than 64
/// bits count, where a shape is absurd. Of a cell at most `most_ranks` are here.
double planned_bytes(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                     std::int32_t most_ranks = kAllRanks);

/// Refuses, before anything is built, cells that this machine has no memory for by what their plans predict: refused
/// here, a matrix too large costs a message; later it costs the machine. Throws std::invalid_argument.
void check_planned_memory(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                          std::int32_t most_ranks = kAllRanks);

/// Refuses, before a rank starts, cells whose tensors this machine has no memory for: those of `ranks` (global
/// numbers), side by side. Throws std::invalid_argument with what they need and what there is.
void check_host_memory(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                       std::span<const std::int32_t> ranks, Texts& texts);

/// The same, and what `ranks`, which are all in this process and of which `num_sharing` have the same CPUs, take of it:
/// throws MachineError where it cannot have their threads or their sockets. Raises the soft limit of open files where
/// that is too low.
void check_host_process(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                        std::span<const std::int32_t> ranks, Texts& texts, std::int32_t num_sharing = kAllRanks);

}  // namespace underlap::bench
