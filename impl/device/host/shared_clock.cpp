// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/shared_clock.hpp"

#include <atomic>

namespace underlap::host {
namespace {

std::atomic<std::int64_t> offset{0};

}  // namespace

void set_clock_offset(std::int64_t ns) noexcept { offset.store(ns, std::memory_order_relaxed); }

std::int64_t clock_offset_ns() noexcept { return offset.load(std::memory_order_relaxed); }

std::int64_t shared_ns(Clock::time_point time) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count() + clock_offset_ns();
}

Clock::time_point own_time(std::int64_t shared_ns) noexcept {
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(shared_ns - clock_offset_ns())));
}

}  // namespace underlap::host
