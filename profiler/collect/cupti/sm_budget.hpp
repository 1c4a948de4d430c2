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
/// A block stays on one multiprocessor, so a kernel of at most `num_sms` blocks occupies at most as many: that is what
/// is shown. A kernel of more blocks may share multiprocessors and keep to the budget all the same, but nothing in its
/// record says where blocks ran, so it counts as not honoured: cuBLASLt takes a budget as a hint to its heuristics,
/// which persistent kernels keep (one block a multiprocessor, looping over its tiles) and others need not. Throws
/// std::invalid_argument unless num_sms > 0.
SmBudgetCheck check_sm_budget(std::span<const KernelUse> kernels, std::int64_t num_sms);

/// The same of every kernel with a budget of its own (KernelUse::sm_budget): one line for each budget and kernel that
/// did not keep to it. Empty: none had one, or all did.
std::vector<std::string> tell_of_sm_budgets(std::span<const KernelUse> kernels);

}  // namespace underlap::cupti
