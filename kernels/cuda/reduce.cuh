// SPDX-License-Identifier: Apache-2.0
#pragma once

// Combining one value of each thread, in an order that depends on the threads' indices alone: such a sum has the
// same bits at every run and on every GPU. Atomics on floats would add in the order in which blocks happen to arrive.
//
//   a warp   lane:    0   1   2   3   4   5   6   7  ...     a lane takes in the value of lane XOR 1, then 2, 4, 8, 16
//            step 1   0+1     2+3     4+5     6+7
//            step 2   0+1+2+3         4+5+6+7                both partners compute the same, so all lanes end alike
//   a block  lane 0 of each warp -> a slot in shared memory -> barrier -> the first warp combines up to 32 slots
#include "kernels/cuda/launch.cuh"

namespace underlap::cuda {

inline constexpr unsigned kWarpThreads = 32;
inline constexpr unsigned kMaxWarps = 32;

/// The values of all 32 lanes combined, on every lane: neighbors first, then pairs, then fours. `combine` must give
/// the same for (a, b) as for (b, a).
template <class T, class Combine>
__device__ T combine_warp(T value, Combine combine) {
#pragma unroll
  for (int lanes = 1; lanes < static_cast<int>(kWarpThreads); lanes *= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, lanes));
  return value;
}

/// The values of all threads combined, on every thread of the first warp. blockDim.x is a multiple of 32. `slots` is
/// shared memory for a value of each warp; nobody may touch it until the next barrier of the block.
template <class T, class Combine>
__device__ T combine_block(T value, T neutral, T* slots, Combine combine) {
  const unsigned lane = threadIdx.x % kWarpThreads, warp = threadIdx.x / kWarpThreads;
  value = combine_warp(value, combine);
  if (lane == 0) slots[warp] = value;
  __syncthreads();
  if (warp != 0) return neutral;  // behind the barrier, which all threads must reach
  return combine_warp(lane < blockDim.x / kWarpThreads ? slots[lane] : neutral, combine);
}

struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace underlap::cuda
