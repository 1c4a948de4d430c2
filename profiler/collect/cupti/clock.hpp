// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "profiler/trace/trace.hpp"

namespace underlap::cupti {

/// Now on CLOCK_MONOTONIC, nanoseconds: the clock of std::chrono::steady_clock, which the other backends record with.
std::int64_t monotonic_ns() noexcept;

/// The same moment on CLOCK_MONOTONIC (device_ns) and CLOCK_REALTIME (unix_ns): of several readings the one with the
/// least time around it, so a reading that was interrupted does not count.
ClockSnapshot clock_snapshot(std::int32_t rank);

}  // namespace underlap::cupti
