// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "kernels/cuda/launch_context.hpp"
#include "kernels/operation.hpp"

namespace underlap::cuda {

/// Enqueues an operation on the context's stream and returns at once: it never waits for the device. The arguments'
/// views point to device memory. What a form computes is what the operation's CPU form computes, up to the order of
/// sums where the form says so.
/// Throws MachineError where a launch is refused.
using CudaForm = void (*)(const Arguments&, LaunchContext&);

struct CudaFormInfo {
  std::string_view operation;  ///< as kernels/registry.hpp names it
  CudaForm form = nullptr;
};

/// All CUDA forms. Valid for the life of the process.
std::span<const CudaFormInfo> registered_cuda_forms();

/// The form of the operation of that name. Throws std::invalid_argument where it has none.
CudaForm cuda_form(NameId operation);

}  // namespace underlap::cuda
