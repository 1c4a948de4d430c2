// SPDX-License-Identifier: Apache-2.0
//
// The matrix is processed in squares of 64 x 64 elements: 64 rows of x and 64 of out. They stay in the first-level
// cache while one is read down its columns and the other written along its rows. Otherwise each element of a column
// would use a line of its own, evicted before the next element of that line is needed.
#include "kernels/transpose/transpose.hpp"

#include <algorithm>
#include <array>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"

namespace underlap::kernels {
namespace {

/// Of two-byte elements 2 * 64 * 128 bytes, half of a first-level cache of 32 KiB.
constexpr std::int64_t kSide = 64;

/// Writes rows of out; a line of x is read from memory once and from the cache for its other columns.
template <class T>
void transpose_square(const BoundView& x, const BoundView& out, std::int64_t row, std::int64_t col) {
  const std::int64_t end_row = std::min(row + kSide, x.rows), end_col = std::min(col + kSide, x.cols);
  for (std::int64_t c = col; c < end_col; ++c) {
    T* const to = out.row<T>(c);
    for (std::int64_t r = row; r < end_row; ++r) to[r] = x.row<const T>(r)[c];
  }
}

template <class T>
void transpose_all(const BoundView& x, const BoundView& out) {
  for (std::int64_t r = 0; r < x.rows; r += kSide)
    for (std::int64_t c = 0; c < x.cols; c += kSide) transpose_square<T>(x, out, r, c);
}

void transpose_cpu(const Arguments& views) {
  if (size_of(views[0].dtype) == 1) return transpose_all<std::uint8_t>(views[0], views[1]);
  transpose_all<std::uint16_t>(views[0], views[1]);
}

}  // namespace

Operation transpose(const View& x, const View& out) {
  static const NameId name = intern("transpose");
  return make_operation(
      name, transpose_cpu, {},
      {{x, Access::in, {"x", x.rows, x.cols, {DataType::bf16, DataType::u8, DataType::f8e4m3, DataType::f8e5m2}}},
       {out, Access::out, {"out", x.cols, x.rows, {x.tensor.dtype}}}});
}

std::span<const KernelInfo> list_transpose() {
  static constexpr std::array<KernelInfo, 1> kernels{{
      {"transpose", "transpose", "out [C,R] = x [R,C]^T, elements of one or two bytes", "no flops; x and out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
