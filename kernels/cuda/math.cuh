// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions that are fast rather than exact in the last bits, for results that are rounded to bf16. Adjacent bf16
// values differ by at least 2^-8 of themselves, so an error of 2^-17 rounds fewer than one result in 500 to a
// neighbor. expf and an IEEE division take several times as many instructions, enough to limit a kernel that should be
// bound by memory.
#include <cmath>

#include "kernels/cuda/launch.cuh"

namespace underlap::cuda {

/// exp(x) in fp32: one multiplication and one instruction of the special function unit. The relative error is under
/// 2^-22 + |x| 2^-24; below about -87.3 it is 0.
__device__ inline float exp_fast(float x) {
  const float power = x * 1.44269504F;
#ifdef __CUDA_ARCH__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(power));
  return result;
#else
  return std::exp2(power);
#endif
}

/// 1 / (1 + exp(-x)), within 2^-21 of itself for |x| < 8 and 2^-17 everywhere; 0 below about -87.
__device__ inline float sigmoid_fast(float x) { return __fdividef(1.0F, 1.0F + exp_fast(-x)); }

}  // namespace underlap::cuda
