// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "profiler/collect/cupti/api.hpp"

namespace underlap::cupti {
namespace {

std::int64_t now_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct Reading {
  std::int64_t monotonic_ns = 0;
  std::int64_t other_ns = 0;
};

// Of several readings the one with the least time around it.
template <class Other>
Reading best_reading(Other other) {
  constexpr int kReadings = 5;
  Reading best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t before = now_ns(CLOCK_MONOTONIC);
    const std::int64_t read = other();
    const std::int64_t around = now_ns(CLOCK_MONOTONIC) - before;
    if (around >= least) continue;
    least = around;
    best = {.monotonic_ns = before + around / 2, .other_ns = read};
  }
  return best;
}

constexpr std::int64_t kTellsRateNs = 1'000'000;
constexpr std::int64_t kMostSlew = 1000;  // parts; adjtime and NTP slew by 500 parts in a million
constexpr std::int64_t kReadingMayErrNs = 100'000;
constexpr std::int64_t kToleranceNs = 1'000'000;

}  // namespace

std::int64_t monotonic_ns() noexcept { return now_ns(CLOCK_MONOTONIC); }

ClockSnapshot clock_snapshot(std::int32_t rank) {
  const Reading best = best_reading([] { return now_ns(CLOCK_REALTIME); });
  return {.rank = rank, .device_ns = best.monotonic_ns, .unix_ns = best.other_ns};
}

ClockPair clock_pair(const Api& api) {
  const Reading best = best_reading([&api] {
    std::uint64_t time = 0;
    check(api, api.get_timestamp(&time), "cuptiGetTimestamp");
    return static_cast<std::int64_t>(time);
  });
  return {.cupti_ns = best.other_ns, .monotonic_ns = best.monotonic_ns};
}

ClockFit::ClockFit(const ClockPair& first, const ClockPair& last) : first_(first), last_(last) {
  const std::int64_t between_ns = last.cupti_ns - first.cupti_ns;
  if (between_ns >= kTellsRateNs && !was_set())
    rate_ = static_cast<double>(elapsed_ns()) / static_cast<double>(between_ns);
}

std::int64_t ClockFit::monotonic_ns(std::int64_t cupti_ns) const {
  const std::int64_t after_ns = cupti_ns - last_.cupti_ns;
  return last_.monotonic_ns + std::llround(rate_ * static_cast<double>(after_ns));
}

bool ClockFit::was_set() const {
  const std::int64_t most_slewed_ns = elapsed_ns() / kMostSlew;
  return std::abs(gained_ns()) > kReadingMayErrNs + most_slewed_ns;
}

void to_monotonic(Activities& activities, const ClockFit& fit, std::int64_t since_ns, std::int64_t until_ns) {
  const auto convert = [&](auto& at) {
    at.start_ns = fit.monotonic_ns(at.start_ns);
    at.end_ns = fit.monotonic_ns(at.end_ns);
  };
  const auto convert_on_device = [&](auto& list, const char* what) {
    const std::size_t num_outside = std::erase_if(list, [&](auto& activity) {
      convert(activity.at);
      return activity.at.start_ns < since_ns - kToleranceNs || activity.at.end_ns > until_ns + kToleranceNs;
    });
    if (num_outside > 0)
      activities.skipped[fmt::format("{} with a time outside its capture", what)] +=
          static_cast<std::int64_t>(num_outside);
  };
  convert_on_device(activities.kernels, "kernel");
  convert_on_device(activities.copies, "copy");
  convert_on_device(activities.memsets, "memset");
  std::ranges::for_each(activities.synchronizations, convert);
  std::ranges::for_each(activities.overheads, convert);
  std::ranges::for_each(activities.api_calls, convert);
}

}  // namespace underlap::cupti
