// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/cuda/cuda_device.hpp"

namespace underlap::cuda {

/// Runs an operation on the machine of queues: by its CUDA implementation where there is one, and otherwise by its CPU
/// implementation, as an item of the stream. What a host plays as device memory is the host's.
void run_implementation_on_host(const Operation& operation, const Arguments& views, LaunchContext& context);

/// The same by CPU implementations alone: what a device does with them then agrees to the bit with the host's.
void run_cpu_implementation_on_host(const Operation& operation, const Arguments& views, LaunchContext& context);

}  // namespace underlap::cuda
