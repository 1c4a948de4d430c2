// SPDX-License-Identifier: Apache-2.0
#include "impl/device/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "kernels/bf16.hpp"

namespace underlap {
namespace {

// Small enough for the first-level cache, long enough that the loop over sources costs nothing.
constexpr std::int64_t kBlockElements = 2048;
using Block = std::array<float, kBlockElements>;

// Rounds fp32 to the nearest bf16, ties to even, as a float. NaNs need no special case: all inputs come from bf16
// values, so the lower half of a payload is zero and nothing carries into the exponent.
float to_wire(float value, bf16 /*type*/) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((word + 0x7FFFU + ((word >> 16) & 1U)) & 0xFFFF0000U);
}
float to_wire(float value, float /*type*/) { return value; }

float load(bf16 value) { return static_cast<float>(value); }
float load(float value) { return value; }

void store(float value, bf16& out) {
  out.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(to_wire(value, bf16{})) >> 16);
}
void store(float value, float& out) { out = value; }

// Rounds to T after every operation, as a ring does hop by hop.
template <class T>
struct HopByHop {
  float scale;
  bool scaled;

  void first(const T* source, std::int64_t n, float* sum) const {
    for (std::int64_t i = 0; i < n; ++i) sum[i] = scaled ? to_wire(load(source[i]) * scale, T{}) : load(source[i]);
  }
  void add(const T* source, std::int64_t n, float* sum) const {
    if (scaled) {
      for (std::int64_t i = 0; i < n; ++i) sum[i] = to_wire(sum[i] + to_wire(load(source[i]) * scale, T{}), T{});
    } else {
      for (std::int64_t i = 0; i < n; ++i) sum[i] = to_wire(sum[i] + load(source[i]), T{});
    }
  }
  void last(const float* sum, std::int64_t n, T* out) const {
    for (std::int64_t i = 0; i < n; ++i) store(sum[i], out[i]);
  }
};

// Rounds to T once, at the end.
template <class T>
struct AtTheEnd {
  float scale;

  void first(const T* source, std::int64_t n, float* sum) const {
    for (std::int64_t i = 0; i < n; ++i) sum[i] = load(source[i]);
  }
  void add(const T* source, std::int64_t n, float* sum) const {
    for (std::int64_t i = 0; i < n; ++i) sum[i] += load(source[i]);
  }
  void last(const float* sum, std::int64_t n, T* out) const {
    for (std::int64_t i = 0; i < n; ++i) store(sum[i] * scale, out[i]);
  }
};

// One of the sources' values, so that nothing is rounded.
template <class T>
struct Largest {
  void first(const T* source, std::int64_t n, float* largest) const {
    for (std::int64_t i = 0; i < n; ++i) largest[i] = load(source[i]);
  }
  void add(const T* source, std::int64_t n, float* largest) const {
    for (std::int64_t i = 0; i < n; ++i) largest[i] = std::fmax(largest[i], load(source[i]));
  }
  void last(const float* largest, std::int64_t n, T* out) const {
    for (std::int64_t i = 0; i < n; ++i) store(largest[i], out[i]);
  }
};

template <class T, class Sum>
void reduce(std::span<const std::byte* const> sources, const Sum& arithmetic, std::int64_t elements, std::byte* out) {
  Block sum;
  for (std::int64_t begin = 0; begin < elements; begin += kBlockElements) {
    const std::int64_t n = std::min(kBlockElements, elements - begin);
    arithmetic.first(reinterpret_cast<const T*>(sources[0]) + begin, n, sum.data());
    for (const std::byte* source : sources.subspan(1))
      arithmetic.add(reinterpret_cast<const T*>(source) + begin, n, sum.data());
    arithmetic.last(sum.data(), n, reinterpret_cast<T*>(out) + begin);
  }
}

template <class T>
void reduce_as(std::span<const std::byte* const> sources, const Reduction& reduction, std::int64_t elements,
               std::byte* out) {
  if (reduction.op == ReduceOp::max) return reduce<T>(sources, Largest<T>{}, elements, out);
  const bool average = reduction.op == ReduceOp::average;
  const float scale = average ? 1.0F / static_cast<float>(sources.size()) : 1.0F;
  if (std::is_same_v<T, float> || reduction.accumulator == Accumulator::wire)
    reduce<T>(sources, HopByHop<T>{to_wire(scale, T{}), average}, elements, out);
  else
    reduce<T>(sources, AtTheEnd<T>{scale}, elements, out);
}

}  // namespace

void reduce_in_rank_order(std::span<const std::byte* const> sources, const Reduction& reduction, std::int64_t elements,
                          std::byte* out) {
  if (sources.empty()) throw std::invalid_argument("reduce_in_rank_order: no source, must have at least 1");
  if (elements < 0)
    throw std::invalid_argument(fmt::format("reduce_in_rank_order: {} elements, must be at least 0", elements));
  if (reduction.dtype == DataType::f32)
    reduce_as<float>(sources, reduction, elements, out);
  else if (reduction.dtype == DataType::bf16)
    reduce_as<bf16>(sources, reduction, elements, out);
  else
    throw std::invalid_argument(
        fmt::format("reduce_in_rank_order: type {}, must be f32 or bf16", to_string(reduction.dtype)));
}

}  // namespace underlap
