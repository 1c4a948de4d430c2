// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/training_texts.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Number of threads that one operation of a host rank may use: its share of the cores that this process may use.
/// `num_sharing` of the configuration's ranks share these cores.
int compute_threads(const plan::Config& config, std::int32_t num_sharing = kAllRanks);

// In all functions, `own` lists the cells that are in memory at the same time, as indices of `cells`.

/// Bytes of this machine's memory that the tensors of these cells need together, as predicted by their plans. A double,
/// since absurd shapes need more than 64 bits. At most `most_ranks` ranks of a cell run here.
double planned_bytes(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                     std::int32_t most_ranks = kAllRanks);

/// Refuses, before anything is built, cells whose predicted memory exceeds this machine's: a matrix that is too large
/// costs only a message here, and later the machine. Throws std::invalid_argument.
void check_planned_memory(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                          std::int32_t most_ranks = kAllRanks);

/// Refuses, before a rank starts, cells whose tensors do not fit this machine's memory: those of all `ranks` (global
/// numbers) together. Throws std::invalid_argument with the needed and the available memory.
void check_host_memory(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                       std::span<const std::int32_t> ranks, Texts& texts);

/// The same, and also checks threads and sockets of `ranks`. All of them are in this process, and `num_sharing` of them
/// have the same CPUs. Throws MachineError if their threads or sockets are not available. Raises the soft limit of open
/// files if that is too low.
void check_host_process(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                        std::span<const std::int32_t> ranks, Texts& texts, std::int32_t num_sharing = kAllRanks);

}  // namespace underlap::bench
