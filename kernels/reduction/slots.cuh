// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/launch.cuh"

namespace underlap::cuda {

/// Slots of a sum that are loaded before the first of them is added.
constexpr int kSlotsInFlight = 4;

void sum_fp8_slots_cuda(const Arguments& views, LaunchContext& context);

}  // namespace underlap::cuda
