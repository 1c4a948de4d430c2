// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/sm_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace underlap::cupti {

std::vector<std::string> warn_sm_budgets(std::span<const KernelUse> kernels) {
  std::map<std::pair<std::int32_t, std::string_view>, std::int64_t> most_blocks;  // by budget and name
  for (const KernelUse& kernel : kernels) {
    if (kernel.sm_budget <= 0 || kernel.grid.count() <= kernel.sm_budget) continue;
    std::int64_t& most = most_blocks[{kernel.sm_budget, name_of(kernel.kernel)}];
    most = std::max(most, kernel.grid.count());
  }
  std::vector<std::string> lines;
  for (const auto& [key, blocks] : most_blocks)
    lines.push_back(fmt::format("sm_budget not honored: {} has up to {} blocks, but its limit is {} SMs", key.second,
                                blocks, key.first));
  return lines;
}

}  // namespace underlap::cupti
