// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "tests/cuda_host/device_code.hpp"

namespace underlap::cuda_host {

/// A kernel with its arguments, ready to run.
struct KernelLaunch {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  std::function<void()> thread_code;
};

/// Runs all blocks of a kernel on the calling thread, one after the other; a block's threads take turns at barriers.
/// Both in an order drawn from `random`: what a result of missing barriers depends on changes from run to run.
/// Dynamic shared memory begins as NaN.
void run_kernel(const KernelLaunch& launch, std::mt19937_64& random);

}  // namespace underlap::cuda_host
