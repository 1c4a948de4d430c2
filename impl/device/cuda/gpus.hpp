// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace underlap::cuda {

/// Checks that this machine can run `needed` ranks, a GPU each, and returns how many GPUs it has.
///
/// `layout`  what needs them, for messages: "data_parallel_size 4 x ..."
/// Throws MachineError that says what is wrong and how to mend it: no driver, a driver older than the CUDA runtime that
/// this program carries (with both versions), no GPU that is visible, fewer than are needed.
int require_gpus(int needed, const std::string& layout);

}  // namespace underlap::cuda
