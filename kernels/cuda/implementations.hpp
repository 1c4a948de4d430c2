// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "kernels/cuda/launch_context.hpp"
#include "kernels/operation.hpp"

namespace underlap::cuda {

/// Enqueues an operation on the context's stream and returns at once: it never waits for the device. The arguments'
/// views point to device memory. The result equals that of the operation's CPU implementation, except for the order of
/// sums where the implementation documents that. Throws MachineError if a launch is refused.
using CudaImplementation = void (*)(const Arguments&, LaunchContext&);

struct CudaImplementationInfo {
  std::string_view operation;  ///< as kernels/registry.hpp names it
  CudaImplementation enqueue = nullptr;
};

/// All CUDA implementations. Valid for the life of the process.
std::span<const CudaImplementationInfo> registered_cuda_implementations();

/// The implementation of the operation of that name. Throws std::invalid_argument where it has none.
CudaImplementation cuda_implementation(NameId operation);

}  // namespace underlap::cuda
