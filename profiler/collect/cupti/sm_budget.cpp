// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/sm_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace underlap::cupti {

SmBudgetCheck check_sm_budget(std::span<const KernelUse> kernels, std::int64_t num_sms) {
  if (num_sms <= 0) throw std::invalid_argument(fmt::format("a budget of {} SMs; must be at least 1", num_sms));
  SmBudgetCheck check;
  for (const KernelUse& kernel : kernels) {
    const std::int64_t blocks = kernel.grid.count();
    if (blocks <= num_sms) {
      ++check.num_within;
      continue;
    }
    std::int64_t& most = check.not_honoured[std::string(name_of(kernel.kernel))];
    most = std::max(most, blocks);
  }
  return check;
}

std::vector<std::string> warn_sm_budgets(std::span<const KernelUse> kernels) {
  std::map<std::int32_t, std::vector<KernelUse>> by_budget;
  for (const KernelUse& kernel : kernels)
    if (kernel.sm_budget > 0) by_budget[kernel.sm_budget].push_back(kernel);
  std::vector<std::string> lines;
  for (const auto& [budget, uses] : by_budget)
    for (const auto& [name, blocks] : check_sm_budget(uses, budget).not_honoured)
      lines.push_back(
          fmt::format("sm_budget not honored: {} has up to {} blocks, but its limit is {} SMs", name, blocks, budget));
  return lines;
}

}  // namespace underlap::cupti
