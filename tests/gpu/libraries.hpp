// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/launch_context.hpp"

namespace underlap::gpu {

/// A context of the current device with what the libraries of this machine bring, made at the first call. Stream,
/// workspace and fault word are the caller's to set.
cuda::LaunchContext context_with_libraries();

/// Whether attention goes through cuDNN from here on, and whether its backward adds in one order; our own kernels
/// otherwise, as at the start.
void use_cudnn(bool wanted, bool is_deterministic = true);

}  // namespace underlap::gpu
