// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/link.hpp"

#include <algorithm>
#include <thread>

namespace underlap::host {
namespace {

// How long one piece occupies the link: short compared with any transfer worth pacing, long compared with a thread's
// wake-up.
constexpr double kPieceSeconds = 500e-6;

constexpr std::chrono::milliseconds kLook{100};  // between two checks of is_given_up

// Returns whether no rank gave up.
bool sleep_until(TimePoint wanted, const std::function<bool()>& is_given_up) {
  for (TimePoint now = std::chrono::steady_clock::now(); now + kLook < wanted; now = std::chrono::steady_clock::now()) {
    if (is_given_up()) return false;
    std::this_thread::sleep_for(kLook);
  }
  std::this_thread::sleep_until(wanted);
  return !is_given_up();
}

}  // namespace

TimePoint TokenBucket::take(std::int64_t bytes, TimePoint earliest) {
  const auto duration = Nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) * 8.0 / gbit_per_s_));
  const std::lock_guard lock(mutex_);
  next_free_ = std::max(next_free_, earliest) + duration;
  return next_free_;
}

double Link::seconds_for(std::int64_t bytes) const {
  const double latency = std::chrono::duration<double>(options_.latency).count();
  return options_.gbit_per_s > 0 ? latency + static_cast<double>(bytes) * 8e-9 / options_.gbit_per_s : latency;
}

void Link::pace(std::int64_t bytes_sent, std::int64_t bytes_received, TimePoint last_arrival,
                const std::function<bool()>& is_given_up) {
  if (!options_.is_paced() || bytes_sent + bytes_received == 0) return;
  TimePoint passed = last_arrival;
  if (options_.gbit_per_s > 0) {
    const auto piece =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(options_.gbit_per_s * 1e9 / 8 * kPieceSeconds));
    while (bytes_sent > 0 || bytes_received > 0) {
      const std::int64_t out = std::min(bytes_sent, piece);
      const std::int64_t in = std::min(bytes_received, piece);
      if (out > 0) passed = std::max(passed, out_.take(out, last_arrival));
      if (in > 0) passed = std::max(passed, in_.take(in, last_arrival));
      bytes_sent -= out;
      bytes_received -= in;
      if (!sleep_until(passed, is_given_up)) return;
    }
  }
  sleep_until(passed + options_.latency, is_given_up);
}

}  // namespace underlap::host
