// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "profiler/analysis/waits.hpp"

namespace underlap::analysis {

/// What a stretch of waiting is charged to, on the clock of all ranks.
struct Charge {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int32_t rank = -1;  ///< -1: a transfer, or unresolved
  LateCause cause = LateCause::unresolved;
  std::size_t arrival = 0;  ///< whose last rank that is
  std::int32_t hops = 0;    ///< waits between

  std::int64_t length_ns() const { return end_ns - begin_ns; }
};

/// Charges waits to the activity of the ranks that arrived last. The arguments must outlive this.
class WaitCharges {
 public:
  /// `arrivals` have their own causes.
  WaitCharges(const Trace&, const Communications&, std::span<const LateArrival> arrivals);

  /// From the first to the last arrival, in order of time and without holes.
  const std::vector<Charge>& of(std::size_t arrival);

 private:
  enum class Doing : std::uint8_t { own, transfer, wait };
  // What a rank does; it idles between.
  struct Segment {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    Doing doing = Doing::own;
    std::size_t arrival = 0;  ///< that it waits for
  };
  struct Change {
    std::int64_t time_ns = 0;
    int step = 0;
    Doing doing = Doing::own;
    std::size_t arrival = 0;
  };

  void read(const Trace&, const Communications&);
  void make_segments(std::int32_t rank, std::vector<Change> changes);
  void charge(std::vector<Charge>& charges, std::size_t arrival, const Segment& segment);
  static void add(std::vector<Charge>& charges, const Charge& charge);

  const Communications& communications_;
  std::span<const LateArrival> arrivals_;
  std::map<std::int32_t, std::vector<Segment>> segments_;  ///< by rank, in order of time
  std::vector<std::optional<std::vector<Charge>>> charges_;
  std::vector<bool> is_open_;  ///< whose charges are being found
};

}  // namespace underlap::analysis
