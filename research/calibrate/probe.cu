// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/probe.hpp"

#include "kernels/cuda/launch.cuh"

namespace underlap::bench {
namespace {

__device__ unsigned long long now_ns() {
#ifdef __CUDACC__
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return cuda_host::global_timer();
#endif
}

__global__ void probe_kernel(unsigned long long* stamps, unsigned long long nanoseconds) {
  if (stamps == nullptr) return;
  const unsigned long long begin = now_ns();
  stamps[0] = begin;
  while (now_ns() - begin < nanoseconds) __nanosleep(500);
  stamps[1] = now_ns();
}

}  // namespace

void launch_probe(unsigned long long* stamps, unsigned long long nanoseconds, CUstream_st* stream) {
  cuda::launch(probe_kernel, {.blocks = 1, .threads = 1}, stream, stamps, nanoseconds);
}

}  // namespace underlap::bench
