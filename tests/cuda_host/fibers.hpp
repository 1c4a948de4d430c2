// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <random>
#include <span>
#include <vector>

#include "tests/cuda_host/device_code.hpp"

namespace underlap::cuda_host {

/// The time that kernels read. It moves on by `tick_ns` at every reading, and to the moment at which the first wakes up
/// when all threads that could run are asleep. Nothing else takes time.
struct VirtualClock {
  unsigned long long now_ns = 1000;
  unsigned long long tick_ns = 32;
  /// When block `index` of a kernel that runs beside others finds a multiprocessor; empty: at once.
  std::function<unsigned long long(unsigned index)> placed_at_ns;
};
VirtualClock& virtual_clock();

/// Runs all blocks of a kernel on the calling thread, one after the other; a block's threads take turns at barriers.
/// Both in an order drawn from `random`: what a result of missing barriers depends on changes from run to run.
/// Dynamic shared memory begins as NaN.
void run_kernel(const KernelLaunch& launch, std::mt19937_64& random);

/// A kernel that may wait for what other streams do. Its blocks run one after the other.
class KernelRun {
 public:
  explicit KernelRun(std::shared_ptr<const KernelLaunch> launch);
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  /// Runs on until the kernel is over, or all threads of a block wait and one of them for others: false then, and it
  /// is to be called again. On any thread, one at a time in the process.
  bool advance(std::mt19937_64& random);

 private:
  struct State;
  std::shared_ptr<const KernelLaunch> launch_;
  std::vector<unsigned> order_;
  std::size_t next_ = 0;
  std::unique_ptr<State> state_;  // null between two blocks
};

/// Runs the blocks of several kernels side by side: where all threads of one wait or sleep, another takes its turn.
/// For kernels without static __shared__ memory, of which there is one for all blocks.
void run_together(std::span<const KernelLaunch> launches, std::mt19937_64& random);

}  // namespace underlap::cuda_host
