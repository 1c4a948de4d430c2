// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/clock.hpp"

#include <ctime>
#include <limits>

namespace underlap::cupti {
namespace {

std::int64_t now_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ns() noexcept { return now_ns(CLOCK_MONOTONIC); }

ClockSnapshot clock_snapshot(std::int32_t rank) {
  constexpr int kReadings = 5;
  ClockSnapshot best{.rank = rank};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t before = now_ns(CLOCK_MONOTONIC);
    const std::int64_t wall = now_ns(CLOCK_REALTIME);
    const std::int64_t around = now_ns(CLOCK_MONOTONIC) - before;
    if (around >= least) continue;
    least = around;
    best.device_ns = before + around / 2;
    best.unix_ns = wall;
  }
  return best;
}

}  // namespace underlap::cupti
