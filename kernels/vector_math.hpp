// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/bf16.hpp"
#include "kernels/operation.hpp"

// Building blocks of the CPU implementations. Every sum has one fixed order, independent of the machine's vector width.

namespace underlap::kernels {

/// exp(x) in fp32 with a relative error under 3e-7, in a form that a compiler vectorizes. 0 below -87.3 (no
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

/// Eight floats: one AVX register, or two of a narrower machine.
using Float8 = float __attribute__((vector_size(32)));

/// The first `n` of 8 values at `x`, `rest` in place of the others.
inline Float8 load_eight(const float* x, std::int64_t n, float rest) {
  Float8 value;
  if (n >= 8) {
    std::memcpy(&value, x, sizeof value);
    return value;
  }
  float values[8];
  for (std::int64_t lane = 0; lane < 8; ++lane) values[lane] = lane < n ? x[lane] : rest;
  std::memcpy(&value, values, sizeof value);
  return value;
}

/// Folds n values into 16 lanes, lane i % 16 taking value i, then the upper half of the lanes onto the lower until one
/// is left. load(i, m) gives values i to i + 8, of which m exist.
template <class Combine, class Load>
float fold(std::int64_t n, float start, Combine combine, Load load) {
  Float8 low = Float8{} + start;
  Float8 high = low;
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    low = combine(low, load(i, 8));
    high = combine(high, load(i + 8, 8));
  }
  if (i < n) {
    low = combine(low, load(i, n - i));
    high = combine(high, load(i + 8, n - i - 8));
  }
  const Float8 eight = combine(low, high);
  const auto four =
      combine(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  return combine(combine(four[0], four[2]), combine(four[1], four[3]));
}

inline float sum(const float* x, std::int64_t n) {
  return fold(
      n, 0.0F, [](auto a, auto b) { return a + b; },
      [=](std::int64_t i, std::int64_t m) { return load_eight(x + i, m, 0.0F); });
}

inline float dot(const float* x, const float* y, std::int64_t n) {
  return fold(
      n, 0.0F, [](auto a, auto b) { return a + b; },
      [=](std::int64_t i, std::int64_t m) { return load_eight(x + i, m, 0.0F) * load_eight(y + i, m, 0.0F); });
}

/// The largest of n > 0 values; a NaN among them may be passed over.
inline float max(const float* x, std::int64_t n) {
  return fold(
      n, x[0], [](auto a, auto b) { return a < b ? b : a; },
      [=](std::int64_t i, std::int64_t m) { return load_eight(x + i, m, x[0]); });
}

template <class T>
void widen(const T* x, float* out, std::int64_t n, float factor = 1.0F) {
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

}  // namespace underlap::kernels
