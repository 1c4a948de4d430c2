// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>

#include "tests/cuda_host/device_code.hpp"

namespace underlap::cuda_host {

/// A kernel with its arguments, ready to run.
struct KernelLaunch {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  std::function<void()> thread_code;
};

/// The time that kernels read. It moves on by `tick_ns` at every reading, and to the moment at which the first wakes up
/// when all threads that could run are asleep. Nothing else takes time.
struct VirtualClock {
  unsigned long long now_ns = 1000;
  unsigned long long tick_ns = 32;
};
VirtualClock& virtual_clock();

/// Runs all blocks of a kernel on the calling thread, one after the other; a block's threads take turns at barriers.
/// Both in an order drawn from `random`: what a result of missing barriers depends on changes from run to run.
/// Dynamic shared memory begins as NaN.
void run_kernel(const KernelLaunch& launch, std::mt19937_64& random);

/// Runs the blocks of several kernels side by side: where all threads of one wait or sleep, another takes its turn.
/// For kernels without static __shared__ memory, of which there is one for all blocks.
void run_together(std::span<const KernelLaunch> launches, std::mt19937_64& random);

}  // namespace underlap::cuda_host
