// SPDX-License-Identifier: Apache-2.0
#pragma once

// The element-by-element loop over matrices that most kernels here consist of.
//
// A thread moves groups of elements, 16 bytes per access, and has kInFlight of them in flight before it finishes the
// first. The groups of a thread lie 256 apart, so that the 32 groups of a warp's access are adjacent: 512 contiguous
// bytes.
//
//   groups of a block | 0 ... 255 | 256 ... 511 | 512 ... 767 | 768 ... 1023 |   kInFlight = 4; the next block has the
//   thread t loads    |     t     |   256 + t   |   512 + t   |   768 + t    |   next 1024
//
// Bound by memory. GPUs from A100 to B200 do 10 to 20 fp32 operations in the time in which HBM moves one byte. By their
// costs the kernels on this loop do at most 3 a byte, except random, which computes in fp64. So two things matter:
// every byte moves once, in whole lines, and enough of them are in flight (Little's law: bandwidth times latency).
// `underlap-calibrate rates` compares each kernel with a copy on the same GPU.
//
// An operation guarantees only the alignment of one element. Each kernel is therefore compiled for groups and for
// single elements, and the host selects the wide one if every view allows it (group_for).
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/bf16.hpp"
#include "kernels/cuda/launch.cuh"

namespace underlap::cuda {

/// A view as a kernel takes it.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t leading_dimension = 0;

  __host__ __device__ T* at(std::int64_t row, std::int64_t col) const { return data + row * leading_dimension + col; }
  __host__ __device__ bool is_dense() const { return rows <= 1 || leading_dimension == cols; }
};

/// `view` as rows of T.
template <class T>
Rows<T> rows_of(const BoundView& view) {
  return {view.as<T>(), view.rows, view.cols, view.leading_dimension};
}

/// Makes matrices of equal shape into one long row each, where all of them are dense: no thread then has to divide.
template <class... T>
void flatten(Rows<T>&... matrices) {
  if (!(matrices.is_dense() && ...)) return;
  ((matrices = {matrices.data, 1, matrices.rows * matrices.cols, matrices.rows * matrices.cols}), ...);
}

/// `wide` where every row of all matrices begins at a multiple of 16 bytes and holds a group of that many, else 1.
template <class... T>
int group_for(int wide, const Rows<T>&... matrices) {
  const bool fits = ((reinterpret_cast<std::uintptr_t>(matrices.data) % 16 == 0 && matrices.cols >= wide &&
                      (matrices.rows <= 1 || matrices.leading_dimension * sizeof(T) % 16 == 0)) &&
                     ...);
  return fits ? wide : 1;
}

/// N elements of T, moved by accesses of 16 bytes if they are that large.
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Group {
  T element[N];
};

template <int N, class T>
__device__ Group<std::remove_const_t<T>, N> load(T* from) {
  return *reinterpret_cast<const Group<std::remove_const_t<T>, N>*>(from);
}

/// 16 bytes to global memory at one access, by name: where a group was only moved, nvcc splits an assignment into the
/// group's elements.
__device__ inline void store_quad(void* to, const uint4& quad) {
#ifdef __CUDA_ARCH__
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(quad.x), "r"(quad.y),
               "r"(quad.z), "r"(quad.w)
               : "memory");
#else
  std::memcpy(to, &quad, sizeof quad);
#endif
}

/// To global memory.
template <class T, int N>
__device__ void store(T* to, const Group<T, N>& group) {
  if constexpr (sizeof group % 16 == 0) {
    struct Quads {
      uint4 quad[sizeof(Group<T, N>) / 16];
    };
    const auto quads = std::bit_cast<Quads>(group);
#pragma unroll
    for (std::size_t i = 0; i < sizeof group / 16; ++i) store_quad(reinterpret_cast<uint4*>(to) + i, quads.quad[i]);
  } else {
    *reinterpret_cast<Group<T, N>*>(to) = group;
  }
}

/// `value` in T, rounded once: bf16's own rounding, by one instruction where the machine has it. NaN may change its
/// payload.
template <class T>
__device__ T narrowed(float value) {
  if constexpr (std::is_same_v<T, bf16>) {
#ifdef __CUDA_ARCH__
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
#else
    return bf16(value);
#endif
  } else {
    return static_cast<T>(value);
  }
}

/// For what only moves elements: calls f with a null pointer to an unsigned integer as large as one of `type`.
template <class F>
void with_element(DataType type, F f) {
  switch (size_of(type)) {
    case 1: return f(static_cast<std::uint8_t*>(nullptr));
    case 2: return f(static_cast<std::uint16_t*>(nullptr));
    case 4: return f(static_cast<std::uint32_t*>(nullptr));
    case 8: return f(static_cast<std::uint64_t*>(nullptr));
    default: refuse("elements have 1, 2, 4 or 8 bytes", size_of(type));
  }
}

/// A quotient without 64-bit division where 32 bits do.
__device__ inline std::int64_t divided(std::int64_t value, std::int64_t by) {
  if (((value | by) >> 32) == 0) return static_cast<std::uint32_t>(value) / static_cast<std::uint32_t>(by);
  return value / by;
}

/// How many elements a body is called for.
template <int N>
using Count = std::integral_constant<int, N>;

/// Calls `finish(n, row, col, load(n, row, col))` for every group of n = Count<N>() elements of a [rows, cols] matrix,
/// and for single elements where a row ends inside a group. cols is at least N.
/// Each thread has kInFlight groups loaded before it finishes the first: a load takes the time of hundreds of
/// instructions. So that no branch parts the loads, a thread without a group loads the first one in its place.
/// Launched with blocks_of_groups blocks.
template <int N, int kInFlight, class Load, class Finish>
__device__ void for_each_group(std::int64_t rows, std::int64_t cols, Load load_group, Finish finish) {
  using Loaded = decltype(load_group(Count<N>(), std::int64_t{}, std::int64_t{}));
  const std::int64_t in_row = (cols + N - 1) / N;
  const std::int64_t groups = rows * in_row;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x * kInFlight;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x * kInFlight + threadIdx.x; i < groups; i += stride) {
    // Unrolled, so that the arrays are registers and all loads are issued before the first result is waited for.
    Loaded loaded[kInFlight];
    std::int64_t row[kInFlight], col[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t group = i + std::int64_t{k} * blockDim.x;
      row[k] = rows == 1 ? 0 : divided(group, in_row);
      col[k] = (group - row[k] * in_row) * N;
      const bool is_whole = group < groups && col[k] + N <= cols;
      loaded[k] = load_group(Count<N>(), is_whole ? row[k] : 0, is_whole ? col[k] : 0);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (i + std::int64_t{k} * blockDim.x >= groups) break;
      if (col[k] + N <= cols) {
        finish(Count<N>(), row[k], col[k], loaded[k]);
      } else {  // the end of a row; rolled up, since it would double the kernel's code for few elements
#pragma unroll 1
        for (std::int64_t c = col[k]; c < cols; ++c) finish(Count<1>(), row[k], c, load_group(Count<1>(), row[k], c));
      }
    }
  }
}

/// A block of 8 warps: small enough that several share a multiprocessor, and one that ends makes room for the next.
inline constexpr unsigned kGroupThreads = 256;

/// The launch of a kernel that is one for_each_group<N, kInFlight> over [rows, cols]: enough blocks for all the work,
/// so that its loop runs once. A kernel that needs fewer, for a partial sum each, lowers the number.
inline LaunchShape blocks_of_groups(std::int64_t rows, std::int64_t cols, int group, int in_flight) {
  const std::int64_t groups = rows * ((cols + group - 1) / group);
  return {.blocks = blocks_for(groups, std::int64_t{kGroupThreads} * in_flight), .threads = kGroupThreads};
}

}  // namespace underlap::cuda
