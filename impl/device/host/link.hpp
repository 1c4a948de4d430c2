// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

namespace underlap::host {

using Nanoseconds = std::chrono::nanoseconds;
using TimePoint = std::chrono::steady_clock::time_point;

/// Rate and latency that a rank's link is paced to. A rate of 0 means that it is not paced.
struct LinkOptions {
  double gbit_per_s = 0;  ///< of each direction
  Nanoseconds latency{0};

  bool is_paced() const { return gbit_per_s > 0 || latency.count() > 0; }
};

/// The bytes of one direction of a link, handed out at its rate. Transfers that run together take turns piece by
/// piece, and so share the rate.
class TokenBucket {
 public:
  explicit TokenBucket(double gbit_per_s) : gbit_per_s_(gbit_per_s) {}

  /// Takes `bytes` that may not start before `earliest`; returns when the last of them has passed. Thread-safe.
  TimePoint take(std::int64_t bytes, TimePoint earliest);

 private:
  double gbit_per_s_;
  std::mutex mutex_;
  TimePoint next_free_;
};

/// Both directions of one rank's link.
class Link {
 public:
  explicit Link(const LinkOptions& options) : options_(options), out_(options.gbit_per_s), in_(options.gbit_per_s) {}

  const LinkOptions& options() const { return options_; }

  /// Seconds that `bytes` in one direction take with the link to themselves.
  double seconds_for(std::int64_t bytes) const;

  /// Blocks the calling thread until a link of this rate would have carried the bytes of a transfer whose last member
  /// arrived at `last_arrival`. Returns at once where the real transfer took longer, and where nothing crossed the
  /// link; soon where `is_given_up` turns true.
  void pace(
      std::int64_t bytes_sent, std::int64_t bytes_received, TimePoint last_arrival,
      const std::function<bool()>& is_given_up = [] { return false; });

 private:
  LinkOptions options_;
  TokenBucket out_;
  TokenBucket in_;
};

}  // namespace underlap::host
