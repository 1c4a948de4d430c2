// SPDX-License-Identifier: Apache-2.0
#pragma once

// What CUDA's device code needs to run on the host: the compiler's built-in variables and functions, played by fibers.
// The build includes it ahead of a .cu file that the host compiler reads.
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

namespace underlap::cuda_host {

/// The indices of the thread that runs now.
struct ThreadPlace {
  uint3 thread{};
  uint3 block{};
  dim3 block_size;
  dim3 grid_size;
};
const ThreadPlace& here();

/// Waits for all threads of the block that are still running.
void block_barrier();
/// Waits for the threads of `mask` in this thread's warp. Dies with a message where one of them can never come.
void warp_barrier(unsigned mask);
/// This thread's place in its warp's exchange buffer of 8 bytes a lane; `lane` may be any of 0 to 31.
std::byte* exchange_slot(unsigned lane);
std::byte* dynamic_shared_memory();
/// Nanoseconds of the virtual clock (fibers.hpp).
unsigned long long global_timer();
/// Takes this thread out until so much virtual time has passed.
void sleep_for(unsigned nanoseconds);
/// The same, for a thread that waits for what is done outside of its kernel: everything else may run meanwhile.
void wait_for_others(unsigned nanoseconds);

/// A kernel with its arguments, ready to run: its threads each call `thread_code`.
struct KernelLaunch {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  unsigned cluster = 0;  ///< blocks of a cluster; recorded, and not simulated
  bool is_remote_domain = false;
  std::function<void()> thread_code;
};

/// Enqueues a kernel.
cudaError_t launch_kernel(KernelLaunch launch, cudaStream_t stream);

template <class T>
T exchange(unsigned mask, T value, unsigned from_lane) {
  static_assert(sizeof(T) <= 8);
  std::memcpy(exchange_slot(here().thread.x % 32), &value, sizeof value);
  warp_barrier(mask);
  std::memcpy(&value, exchange_slot(from_lane % 32), sizeof value);
  warp_barrier(mask);
  return value;
}

}  // namespace underlap::cuda_host

#define threadIdx (::underlap::cuda_host::here().thread)
#define blockIdx (::underlap::cuda_host::here().block)
#define blockDim (::underlap::cuda_host::here().block_size)
#define gridDim (::underlap::cuda_host::here().grid_size)
// One block runs at a time, so what its threads share can be what the operating system's thread keeps.
#undef __shared__
#define __shared__ static thread_local
#undef __grid_constant__
#define __grid_constant__
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __forceinline__
#define __forceinline__ inline

inline void __syncthreads() { underlap::cuda_host::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) { underlap::cuda_host::warp_barrier(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned nanoseconds) { underlap::cuda_host::sleep_for(nanoseconds); }

template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return underlap::cuda_host::exchange(mask, value, static_cast<unsigned>(lane));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return underlap::cuda_host::exchange(mask, value, threadIdx.x % 32 ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  const unsigned lane = threadIdx.x % 32;
  return underlap::cuda_host::exchange(mask, value, lane + by < 32 ? lane + by : lane);
}

// Threads run one at a time: plain reads and writes are atomic.
template <class T, class U>
T atomicAdd(T* at, U value) {
  return std::exchange(*at, static_cast<T>(*at + value));
}
template <class T, class U>
T atomicMax(T* at, U value) {
  return std::exchange(*at, std::max(*at, static_cast<T>(value)));
}
template <class T, class U>
T atomicMin(T* at, U value) {
  return std::exchange(*at, std::min(*at, static_cast<T>(value)));
}
template <class T, class U>
T atomicOr(T* at, U value) {
  return std::exchange(*at, *at | static_cast<T>(value));
}
template <class T, class U>
T atomicExch(T* at, U value) {
  return std::exchange(*at, static_cast<T>(value));
}
template <class T, class U, class V>
T atomicCAS(T* at, U expected, V value) {
  return std::exchange(*at, *at == static_cast<T>(expected) ? static_cast<T>(value) : *at);
}

template <class T>
T __ldg(const T* at) {
  return *at;
}
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int value) { return std::bit_cast<float>(value); }
inline float __uint_as_float(unsigned value) { return std::bit_cast<float>(value); }
// Separate roundings, whatever the compiler may contract.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0F / a; }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
inline float rsqrtf(float value) { return 1.0F / std::sqrt(value); }
inline float __expf(float value) { return std::exp(value); }
