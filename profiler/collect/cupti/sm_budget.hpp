// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profiler/collect/cupti/assemble.hpp"

namespace underlap::cupti {

/// Checks the grids of kernels against their budgets of multiprocessors (KernelUse::sm_budget): one line for each
/// budget and kernel that exceeded it, with the largest number of blocks seen. Empty if no kernel had a budget, or all
/// kept to theirs.
///
/// A block stays on one multiprocessor, so a kernel of at most as many blocks occupies at most as many of them.
/// This is all that the check can prove. A kernel of more blocks may share multiprocessors and keep to the budget, but
/// its record does not show where blocks ran, so it counts as not honored. cuBLASLt uses a budget as a hint to its
/// heuristics. Persistent kernels keep to it (one block per multiprocessor, looping over its tiles); others need not.
std::vector<std::string> warn_sm_budgets(std::span<const KernelUse> kernels);

}  // namespace underlap::cupti
