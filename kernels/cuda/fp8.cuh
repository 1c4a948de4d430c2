// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/elements.cuh"
#include "kernels/fp8.hpp"

namespace underlap::cuda {

// Conversions between fp8 and fp32, two elements at a time.
//
// From compute capability 8.9 on one instruction converts two values, to the bits that the host's conversion gives;
// older GPUs run the host's code, a dozen integer operations a value. Which of the two it is has to be known when the
// PTX is made, so a source that includes this file is compiled for each architecture by itself; all others have one PTX
// text for every GPU.
//
//   fp32 -> fp8   cvt.rn.satfinite.e4m3x2.f32 pair, second, first      the operand named first becomes the upper byte
//   fp8 -> fp32   cvt.rn.f16x2.e4m3x2, then two cvt.f32.f16            both exact
#ifdef __CUDA_ARCH__
#ifndef UNDERLAP_PTX_EACH
#error "this source needs PTX of each architecture: COMPILE_OPTIONS UNDERLAP_PTX_EACH (cmake/UnderlapCuda.cmake)"
#endif
#if __CUDA_ARCH__ >= 890
#define UNDERLAP_HAS_FP8_CONVERSION 1
#endif
#endif

/// Two values in fp8; the first is the lower byte.
template <class F>
__device__ std::uint16_t fp8_pair(float first, float second) {
#ifdef UNDERLAP_HAS_FP8_CONVERSION
  std::uint16_t pair = 0;
  if constexpr (std::is_same_v<F, f8e4m3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  }
  return pair;
#else
  return static_cast<std::uint16_t>(F(first).bits | F(second).bits << 8);
#endif
}

/// The values of two fp8 bit patterns, of which the first is the lower byte. Exact; NaN may change its payload.
template <class F>
__device__ void widen_pair(std::uint16_t pair, float& first, float& second) {
#ifdef UNDERLAP_HAS_FP8_CONVERSION
  // Every fp8 value is one of fp16.
  std::uint32_t halves = 0;
  if constexpr (std::is_same_v<F, f8e4m3>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  }
  asm("cvt.f32.f16 %0, %1;" : "=f"(first) : "h"(static_cast<std::uint16_t>(halves)));
  asm("cvt.f32.f16 %0, %1;" : "=f"(second) : "h"(static_cast<std::uint16_t>(halves >> 16)));
#else
  first = static_cast<float>(std::bit_cast<F>(static_cast<std::uint8_t>(pair)));
  second = static_cast<float>(std::bit_cast<F>(static_cast<std::uint8_t>(pair >> 8)));
#endif
}

/// Each element of `group` in fp32, fp8 in pairs. Exact.
template <class T, int N>
__device__ void widen_group(const Group<T, N>& group, float (&values)[N]) {
  if constexpr (sizeof(T) > 1 || N == 1) {
    for (int i = 0; i < N; ++i) values[i] = static_cast<float>(group.element[i]);
  } else {
    for (int i = 0; i < N; i += 2)
      widen_pair<T>(static_cast<std::uint16_t>(group.element[i].bits | group.element[i + 1].bits << 8), values[i],
                    values[i + 1]);
  }
}

/// Each of `values` in T, rounded once.
template <class T, int N>
__device__ void narrow_group(const float (&values)[N], Group<T, N>& result) {
  if constexpr (sizeof(T) > 1) {
    for (int i = 0; i < N; ++i) result.element[i] = narrowed<T>(values[i]);
  } else if constexpr (N == 1) {
    result.element[0].bits = static_cast<std::uint8_t>(fp8_pair<T>(values[0], values[0]));
  } else {
    for (int i = 0; i < N; i += 2) {
      const std::uint16_t pair = fp8_pair<T>(values[i], values[i + 1]);
      result.element[i].bits = static_cast<std::uint8_t>(pair);
      result.element[i + 1].bits = static_cast<std::uint8_t>(pair >> 8);
    }
  }
}

#undef UNDERLAP_HAS_FP8_CONVERSION

}  // namespace underlap::cuda
