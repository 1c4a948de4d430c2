// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "profiler/collect/cupti/assemble.hpp"

namespace underlap::cupti {

/// Whether kernels kept to a number of multiprocessors, as far as their launches show it.
struct SmBudgetCheck {
  std::int64_t num_within = 0;
  /// Kernels that may have used more, by name, with the largest number of blocks seen.
  std::map<std::string, std::int64_t> not_honoured;

  bool is_honoured() const { return not_honoured.empty(); }
};

/// Checks the grids of `kernels` against a budget of `num_sms` multiprocessors.
///
/// A block stays on one multiprocessor, so a kernel of at most `num_sms` blocks occupies at most `num_sms` of them.
/// This is all that the check can prove. A kernel of more blocks may share multiprocessors and keep to the budget, but
/// its record does not show where blocks ran, so it counts as not honoured. cuBLASLt uses a budget as a hint to its
/// heuristics. Persistent kernels keep to it (one block per multiprocessor, looping over its tiles); others need not.
/// Throws std::invalid_argument unless num_sms > 0.
SmBudgetCheck check_sm_budget(std::span<const KernelUse> kernels, std::int64_t num_sms);

/// The same for every kernel with its own budget (KernelUse::sm_budget): one line for each budget and kernel that
/// exceeded it. Empty if no kernel had a budget, or all kept to theirs.
std::vector<std::string> warn_sm_budgets(std::span<const KernelUse> kernels);

}  // namespace underlap::cupti
