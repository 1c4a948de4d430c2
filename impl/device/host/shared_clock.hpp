// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace underlap::host {

/// The clock that all ranks of a run count by: the steady clock of rank 0's machine. On another machine it is that
/// one's steady clock and an offset, which the run measures and sets while nothing is measured. One for a process.
using Clock = std::chrono::steady_clock;

/// The offset that is added to this machine's steady clock; 0 until it is set.
void set_clock_offset(std::int64_t ns) noexcept;
std::int64_t clock_offset_ns() noexcept;

/// A moment of this machine's clock on that of all ranks, nanoseconds; and back.
std::int64_t shared_ns(Clock::time_point time) noexcept;
Clock::time_point own_time(std::int64_t shared_ns) noexcept;

}  // namespace underlap::host
