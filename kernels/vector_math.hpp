// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/bf16.hpp"
#include "kernels/operation.hpp"

// Building blocks of the CPU forms. Every sum has one fixed order, whatever the vector width of the machine.

namespace underlap::kernels {

/// exp(x) in fp32 with a relative error under 3e-7, in a form that a compiler vectorises. 0 below -87.3 (no
/// subnormals), held at exp(88.3) above it, NaN for NaN.
/// Source: Cody & Waite 1980 for the two-part reduction; coefficients of the Cephes library's expf.
inline float exp_fp32(float x) {
  const float low = x < -87.3F ? -87.3F : x;
  const float clamped = low > 88.3F ? 88.3F : low;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
  const float shifted = clamped * 1.44269504F + 12582912.0F;
  const float n = shifted - 12582912.0F;
  const float r = std::fma(n, 2.12194440e-4F, std::fma(n, -0.693359375F, clamped));
  float p = 1.9875691500e-4F;
  p = std::fma(p, r, 1.3981999507e-3F);
  p = std::fma(p, r, 8.3334519073e-3F);
  p = std::fma(p, r, 4.1665795894e-2F);
  p = std::fma(p, r, 1.6666665459e-1F);
  p = std::fma(p, r, 5.0000001201e-1F);
  p = std::fma(p * r, r, r) + 1.0F;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) - 0x4B400000U + 127U) << 23;
  const float result = p * std::bit_cast<float>(exponent);
  return x < -87.3F ? 0.0F : result;
}

/// 1 / (1 + exp(-x)).
inline float sigmoid(float x) { return 1.0F / (1.0F + exp_fp32(-x)); }

/// Folds f(i) for i in [0, n) into 16 running values, value i % 16 taking element i, then those from left to right.
template <class T, class Combine, class Element>
T fold(std::int64_t n, T start, Combine combine, Element element) {
  constexpr std::int64_t kLanes = 16;
  T lanes[kLanes];
  for (T& lane : lanes) lane = start;
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = combine(lanes[lane], element(i + lane));
  }
  for (std::int64_t i = whole; i < n; ++i) lanes[i - whole] = combine(lanes[i - whole], element(i));
  T result = lanes[0];
  for (std::int64_t lane = 1; lane < kLanes; ++lane) result = combine(result, lanes[lane]);
  return result;
}

inline float sum(const float* x, std::int64_t n) {
  return fold(
      n, 0.0F, [](float a, float b) { return a + b; }, [=](std::int64_t i) { return x[i]; });
}

inline float dot(const float* x, const float* y, std::int64_t n) {
  return fold(
      n, 0.0F, [](float a, float b) { return a + b; }, [=](std::int64_t i) { return x[i] * y[i]; });
}

/// The largest of n > 0 values; a NaN among them may be passed over.
inline float max(const float* x, std::int64_t n) {
  return fold(
      n, x[0], [](float a, float b) { return a < b ? b : a; }, [=](std::int64_t i) { return x[i]; });
}

inline void widen(const bf16* x, float* out, std::int64_t n, float factor = 1.0F) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(x[i]) * factor;
}

inline void narrow(const float* x, bf16* out, std::int64_t n, float factor = 1.0F) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = bf16(x[i] * factor);
}

/// x[i] += y[i], in fp32, rounded once where x is bf16.
template <class T>
void add_to(T* x, const float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(static_cast<float>(x[i]) + y[i]);
}

/// Calls f with a null pointer of the type that `dtype` names: f(float*) for f32, f(bf16*) for bf16.
template <class F>
void with_float_type(DataType dtype, F f) {
  if (dtype == DataType::bf16) {
    f(static_cast<bf16*>(nullptr));
  } else {
    f(static_cast<float*>(nullptr));
  }
}

}  // namespace underlap::kernels
