// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "bench/ranks/texts.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Threads that one operation of a host rank may use: its share of this machine's cores.
int compute_threads(const plan::Config& config);

/// Refuses, before anything is built, cells that this machine has no memory for by what their plans predict: refused
/// here, a matrix too large costs a message; later it costs the machine. Throws std::invalid_argument.
void check_planned_memory(std::span<const plan::Cell> cells);

/// Refuses, before a rank starts, cells whose tensors this machine has no memory for: those of all ranks, wherever they
/// run, side by side. Throws std::invalid_argument with what they need and what there is.
void check_host_memory(std::span<const plan::Cell> cells, Texts& texts);

/// The same, and what `ranks` (global numbers), which are all in this process, take of it: throws MachineError where it
/// cannot have their threads or their sockets. Raises the soft limit of open files where that is too low.
void check_host_process(std::span<const plan::Cell> cells, std::span<const std::int32_t> ranks, Texts& texts);

}  // namespace underlap::bench
