// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// What launches have in common that are compared with each other.
struct Launch {
  NameId name = kNoName;
  NameId purpose = kNoName;
  Direction direction = Direction::none;
  bool has_bucket = false;
  LaunchShape shape;  ///< zeros if unknown

  friend bool operator==(const Launch&, const Launch&) = default;
};
Launch launch_of(const Trace&, std::uint32_t slice);

/// One kernel with equal launches, some during communication on its rank and some without. Summed over ranks; each
/// launch is compared with launches on its own rank.
struct SlowedKernel {
  NameId name = kNoName;
  NameId purpose = kNoName;
  LaunchShape shape;            ///< zeros if unknown
  std::int64_t beside = 0;      ///< launches with communication during at least half of their time
  std::int64_t alone = 0;       ///< launches without communication
  double median_beside_ns = 0;  ///< duration
  double median_alone_ns = 0;   ///< likewise
  std::int64_t beside_ns = 0;   ///< sum of their durations
  double cost_ns = 0;  ///< of beside_ns, the excess over the same number of launches at the rank's median alone

  double slowdown() const { return median_alone_ns > 0 ? median_beside_ns / median_alone_ns : 0; }
};

/// The slowdown of compute by communication that ran at the same time, as far as it can be compared.
struct SlowedCompute {
  std::vector<SlowedKernel> kernels;  ///< with launches of both kinds on one rank; those of most cost first
  double cost_ns = 0;                 ///< of all of them
  std::int64_t beside_ns = 0;         ///< compute of launches with communication during at least half of their time
  std::int64_t compared_ns = 0;       ///< part of it by kernels that also ran alone on that rank
  std::int64_t partly_beside_ns = 0;  ///< compute with communication during less than half of it: in neither column
  std::int64_t unknown_shape_ns = 0;  ///< part of compared_ns by launches of unknown size

  /// Part of beside_ns that has launches to compare it with, 0 to 1.
  double compared_share() const {
    return beside_ns == 0 ? 0 : static_cast<double>(compared_ns) / static_cast<double>(beside_ns);
  }
};

/// Compares launches of one kernel during communication with its launches without, rank by rank. Negative costs count,
/// too. In n log n.
SlowedCompute find_slowed_compute(const Trace&);

}  // namespace underlap::analysis
