// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "profiler/collect/cupti/activities.hpp"

namespace underlap::cupti {

/// From the start of a launch call to the start of its kernel, nanoseconds. Long ones are kernels that waited for their
/// stream; the smallest ones are what launching costs.
struct LaunchLatency {
  std::int64_t count = 0;  ///< kernels with a recorded launch, the first of each call
  std::int64_t least_ns = 0;
  std::int64_t median_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t most_ns = 0;
  /// Kernels that began before their launch: the clocks of CPU and GPU disagree by more than a launch takes. They are
  /// in the figures above as they are.
  std::int64_t num_negative = 0;
  std::int64_t num_without_launch = 0;
};

/// Of the nodes of one graph launch only the first counts.
LaunchLatency launch_latency(std::span<const KernelActivity>, std::span<const ApiActivity>);

}  // namespace underlap::cupti
