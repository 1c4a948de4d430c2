// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rows of elements in groups of 16 bytes. A form may count on the alignment of one element only, so each kernel has a
// way for groups and a way for single elements, and the host takes the wide one where every view allows it.
#include <cstdint>
#include <initializer_list>

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
};

/// `view` as rows of T.
template <class T>
Rows<T> rows_of(const BoundView& view) {
  return {view.as<T>(), view.rows, view.cols, view.leading_dimension};
}

/// N elements of T that are moved by one access where N * sizeof(T) is 16.
template <class T, int N>
struct alignas(N * sizeof(T)) Group {
  T element[N];
};

/// How many elements of `view`'s type fill 16 bytes, or 1 where its rows do not all begin at a multiple of 16 bytes or
/// do not hold a multiple of 16 bytes.
inline int group_elements(const BoundView& view) {
  const auto size = size_of(view.dtype);
  const bool aligned = reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && view.cols * size % 16 == 0 &&
                       (view.rows <= 1 || view.leading_dimension * size % 16 == 0);
  return aligned ? static_cast<int>(16 / size) : 1;
}

}  // namespace underlap::cuda
