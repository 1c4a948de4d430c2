// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace underlap::cuda {

/// Throws MachineError with the code's name, its text, and the place of the call, unless `code` is cudaSuccess.
void check(cudaError_t code, const std::source_location& where = std::source_location::current());

}  // namespace underlap::cuda
