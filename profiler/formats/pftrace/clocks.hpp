// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <protozero/data_view.hpp>
#include <utility>

namespace underlap::formats::pftrace {

/// Converts the timestamps of packets to one clock, CLOCK_BOOTTIME where the file relates its clocks to that one.
class Clocks {
 public:
  /// Takes a clock snapshot of a packet sequence. Throws protozero::exception for a broken message.
  void add_snapshot(protozero::data_view, std::uint64_t sequence);

  /// The time of the next packet of a sequence, whose timestamp may count from that of the packet before it. nullopt:
  /// the clock is not defined, or the time overflows.
  std::optional<std::int64_t> time_ns(std::uint64_t timestamp, std::uint64_t clock, std::uint64_t sequence);

  /// To be added to a time to get Unix time; 0: unknown.
  std::int64_t unix_offset_ns() const { return unix_offset_ns_; }

 private:
  struct Clock {
    std::int64_t offset_ns = 0;
    std::uint64_t unit_ns = 1;
    std::uint64_t last = 0;  ///< of an incremental clock, in its units
    bool is_incremental = false;
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  static Key key_of(std::uint64_t clock, std::uint64_t sequence);

  std::map<Key, Clock> clocks_;
  std::int64_t unix_offset_ns_ = 0;
};

}  // namespace underlap::formats::pftrace
