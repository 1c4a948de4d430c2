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
  LaunchShape shape;  ///< zeros where the trace does not say

  friend bool operator==(const Launch&, const Launch&) = default;
};
Launch launch_of(const Trace&, std::uint32_t slice);

/// One kernel, launched alike, with communication beside it on its rank and without. Summed over ranks; each launch is
/// compared with those of its own rank.
struct SlowedKernel {
  NameId name = kNoName;
  NameId purpose = kNoName;
  LaunchShape shape;            ///< zeros where the trace does not say
  std::int64_t beside = 0;      ///< launches of which at least half ran beside communication
  std::int64_t alone = 0;       ///< of which nothing did
  double median_beside_ns = 0;  ///< duration
  double median_alone_ns = 0;   ///< likewise
  std::int64_t beside_ns = 0;   ///< sum of their durations
  double cost_ns = 0;           ///< of that, what is beyond as many times the median alone of the same rank

  double slowdown() const { return median_alone_ns > 0 ? median_beside_ns / median_alone_ns : 0; }
};

/// What communication cost the compute that it ran beside, as far as that can be compared.
struct SlowedCompute {
  std::vector<SlowedKernel> kernels;  ///< with launches of both kinds on one rank; those of most cost first
  double cost_ns = 0;                 ///< of all of them
  std::int64_t beside_ns = 0;         ///< compute of launches that ran beside communication for at least half
  std::int64_t compared_ns = 0;       ///< of it, of kernels that ran alone too
  std::int64_t partly_beside_ns = 0;  ///< compute of launches that did so for less than half: in neither column
  std::int64_t unknown_shape_ns = 0;  ///< part of compared_ns of which the launch's size is not known

  /// Part of the compute beside communication for which there is something to compare it with, 0 to 1.
  double compared_share() const {
    return beside_ns == 0 ? 0 : static_cast<double>(compared_ns) / static_cast<double>(beside_ns);
  }
};

/// Compares kernels of one Launch that ran beside communication with those that did not, rank by rank. Costs below 0
/// count as such. In n log n.
SlowedCompute find_slowed_compute(const Trace&);

}  // namespace underlap::analysis
