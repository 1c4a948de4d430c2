// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <source_location>

namespace underlap::cuda {

/// Throws MachineError with the code's name, its text, and the place of the call, unless `code` is cudaSuccess.
void check(cudaError_t code, const std::source_location& where = std::source_location::current());

/// Throws std::invalid_argument with the message "`rule`, not `value`". For .cu files, which are parsed once for every
/// GPU architecture: parsing the headers of exceptions and strings would take longer than parsing the kernels.
[[noreturn]] void refuse(const char* rule, std::int64_t value);

}  // namespace underlap::cuda
