// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace underlap::report {

/// One reading of a GPU's clocks, power and temperature.
struct GpuState {
  std::int32_t sm_mhz = 0;
  std::int32_t memory_mhz = 0;
  double power_w = 0;
  std::int32_t temperature_c = 0;
  std::vector<std::string> throttle_reasons{};  ///< that lower the clocks: "power limit", "thermal slowdown", ...
};

/// The GPU of one rank around one block. Read through NVML.
struct GpuBlock {
  std::int32_t block = 0;
  std::int32_t rank = 0;
  GpuState before{};                  ///< before the first step
  GpuState after{};                   ///< when the last step was enqueued, while the GPU still works
  std::int64_t power_limited_ns = 0;  ///< time in between with clocks lowered by the power limit, as the driver counts
  std::int64_t thermal_limited_ns = 0;  ///< likewise by the temperature
};

/// What a block's capture lacks. The block's times are those of its marks; its breakdown lacks these records.
struct CaptureFault {
  std::int32_t block = 0;
  std::int32_t rank = 0;
  std::string cause;       ///< "dropped", "no buffer", "unreadable", "untagged", "lost", "mark without kernel", ...
  std::int64_t count = 0;  ///< records
  std::string example;     ///< one of them, in words
};

}  // namespace underlap::report
