// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/gpu_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace underlap::report {

std::string throttled_text(const GpuBlock& block) {
  std::set<std::string> reasons(block.after.throttle_reasons.begin(), block.after.throttle_reasons.end());
  if (block.power_limited_ns > 0) reasons.insert("power limit");
  if (block.thermal_limited_ns > 0) reasons.insert("thermal slowdown");
  if (reasons.empty()) return "";
  std::string text =
      fmt::format("{}; SM clock {} -> {} MHz", fmt::join(reasons, ", "), block.before.sm_mhz, block.after.sm_mhz);
  const std::int64_t limited_ns = block.power_limited_ns + block.thermal_limited_ns;
  if (limited_ns > 0) text += fmt::format(", clocks lowered for {:.0f} ms", static_cast<double>(limited_ns) * 1e-6);
  return text;
}

}  // namespace underlap::report
