// SPDX-License-Identifier: Apache-2.0
//
// The three products of a linear layer on the CPU, in tiles that a library multiplies (tile_product.hpp).
//
//   fprop   y = x w^T     dgrad   dx = dy w     wgrad   dw += dy^T x     a transpose is a stride: nothing is copied
//
//   a, b (bf16, fp8) -> tiles of one shape, whole by zeros -> one tile of c at a time, over k in parts -> rounded to c
//                       in bf16 where the processor multiplies it (AMX, AVX-512 BF16), elsewhere in fp32
//
//             k parts                b: k x 64
//           +---+---+---+          +----+----+
//   a: 64 x | 0 | 1 | 2 |    ...   |    |    |    c[i][j] = a[i][0] b[0][j], then + a[i][1] b[1][j], ...
//           +---+---+---+          +----+----+
//
// 2 M N K floating-point operations: bound by multiply-adds, summed in fp32. Either type holds what it is given
// exactly; the scale of fp8 operands multiplies the sum once.
#include "kernels/gemm/gemm.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/fp8.hpp"
#include "kernels/gemm/tile_product.hpp"
#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

struct Extent {
  std::int64_t m = 0, n = 0, k = 0;
};

Extent extent_of(const GemmCall& call) {
  return {.m = call.c.rows, .n = call.c.cols, .k = call.transpose_a ? call.a.rows : call.a.cols};
}

std::int64_t num_tiles(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

template <class From>
void convert(const From* from, float* to, std::int64_t count) {
  widen(from, to, count);
}

template <class From>
void convert(const From* from, bf16* to, std::int64_t count) {
  if constexpr (std::is_same_v<From, bf16>)
    std::copy_n(from, count, to);
  else
    std::transform(from, from + count, to, [](From x) { return bf16(static_cast<float>(x)); });
}

/// An operand of inner dimension k in tiles of `width` of its outer dimension, each cut in parts of the inner one.
template <class T>
struct Tiles {
  T* data = nullptr;
  std::int64_t width = 0, k = 0;

  T* at(std::int64_t tile, std::int64_t depth) const { return data + (tile * k + depth) * width; }
};

/// `view` in tiles, with zeros where it ends. Its rows are the inner dimension, or else the outer.
template <class T>
Tiles<T> tiles_of(const BoundView& view, std::int64_t width, bool rows_are_inner, Scratch& scratch) {
  const std::int64_t outer = rows_are_inner ? view.cols : view.rows, k = rows_are_inner ? view.rows : view.cols;
  const std::int64_t bytes = num_tiles(outer, width) * width * k * static_cast<std::int64_t>(sizeof(T));
  const Tiles<T> tiles{reinterpret_cast<T*>(scratch.take(num_tiles(bytes, sizeof(float)))), width, k};
  const auto fill = [&]<class From>(From*) {
    for (std::int64_t first = 0; first < outer; first += width)
      for (std::int64_t depth = 0; depth < k; depth += Tile<T>::kDepth) {
        const std::int64_t here = std::min(width, outer - first), deep = std::min(Tile<T>::kDepth, k - depth);
        T* to = tiles.at(first / width, depth);
        const std::int64_t rows = rows_are_inner ? deep : here, cols = rows_are_inner ? here : deep;
        const std::int64_t row = rows_are_inner ? depth : first, col = rows_are_inner ? first : depth;
        const std::int64_t stride = rows_are_inner ? width : deep;
        for (std::int64_t r = 0; r < rows; ++r, to += stride) {
          convert(view.row<const From>(row + r) + col, to, cols);
          std::fill_n(to + cols, stride - cols, T{});
        }
        std::fill_n(to, width * deep - rows * stride, T{});
      }
  };
  is_fp8(view.dtype) ? with_fp8_type(view.dtype, fill) : with_float_type(view.dtype, fill);
  return tiles;
}

float inverse_scale(const GemmCall& call) {
  return is_fp8(call.a.dtype) ? *call.a_inverse_scale * *call.b_inverse_scale : 1.0F;
}

/// c = sums, or c += sums, rounded where c is bf16: the tile that begins at that element.
template <class T>
void store(float* sums, const GemmCall& call, std::int64_t row, std::int64_t col) {
  if (const float scale = inverse_scale(call); scale != 1)
    std::transform(sums, sums + Tile<T>::kRows * Tile<T>::kCols, sums, [scale](float x) { return x * scale; });
  const std::int64_t rows = std::min(Tile<T>::kRows, call.c.rows - row),
                     cols = std::min(Tile<T>::kCols, call.c.cols - col);
  if (call.bias != nullptr)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c) sums[r * Tile<T>::kCols + c] += static_cast<float>(call.bias[col + c]);
  with_float_type(call.c.dtype, [&]<class C>(C*) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const from = sums + r * Tile<T>::kCols;
      C* const to = call.c.row<C>(row + r) + col;
      if (call.accumulate)
        add_to(to, from, cols);
      else if constexpr (std::is_same_v<C, float>)
        std::copy_n(from, cols, to);
      else
        narrow(from, to, cols);
    }
  });
}

// Threads share the tiles of the product, and each tile has one.
template <class T>
void multiply(const GemmCall& call) {
  constexpr std::int64_t kRows = Tile<T>::kRows, kCols = Tile<T>::kCols, kDepth = Tile<T>::kDepth;
  Scratch scratch;
  const Extent extent = extent_of(call);
  const Tiles<T> a = tiles_of<T>(call.a, kRows, call.transpose_a, scratch);
  const Tiles<T> b = tiles_of<T>(call.b, kCols, !call.transpose_b, scratch);
#ifndef __SANITIZE_THREAD__  // it does not see the barriers of libgomp, and would report the loop as a race
#pragma omp parallel for collapse(2)
#endif
  for (std::int64_t i = 0; i < num_tiles(extent.m, kRows); ++i)
    for (std::int64_t j = 0; j < num_tiles(extent.n, kCols); ++j) {
      alignas(64) std::array<float, kRows * kCols> sums;
      for (std::int64_t depth = 0; depth < extent.k; depth += kDepth)
        multiply_tile(TileShape<T>{std::min(kDepth, extent.k - depth), call.transpose_a, call.transpose_b},
                      a.at(i, depth), b.at(j, depth), sums.data(), depth > 0);
      store<T>(sums.data(), call, i * kRows, j * kCols);
    }
}

void fprop_cpu(const Arguments& views) { run_gemm(fprop_call(views)); }

void dgrad_cpu(const Arguments& views) { run_gemm({.a = views[0], .b = views[1], .c = views[2]}); }

void wgrad_cpu(const Arguments& views) {
  run_gemm({.a = views[0], .b = views[1], .c = views[2], .transpose_a = true, .accumulate = true});
}

Cost gemm_cost(const char* operation, const Extent& extent, int sm_margin) {
  require(operation, sm_margin >= 0, "sm_margin", sm_margin, "at least 0");
  return {.flops = 2.0 * static_cast<double>(extent.m) * static_cast<double>(extent.n) * static_cast<double>(extent.k),
          .sm_margin = sm_margin,
          .work = Work::gemm,
          .extent = {extent.m, extent.n, extent.k}};
}

}  // namespace

void run_gemm(const GemmCall& call) { multiplies_bf16() ? multiply<bf16>(call) : multiply<float>(call); }

GemmCall fprop_call(const Arguments& views) {
  return {.a = views[0],
          .b = views[1],
          .c = views[2],
          .bias = views.size() > 3 ? views[3].as<const bf16>() : nullptr,
          .transpose_b = true};
}

Operation gemm_fprop(const View& x, const View& w, const View& y, int sm_margin, const View& bias) {
  static const NameId name = intern("gemm_fprop");
  return make_operation(name, fprop_cpu, gemm_cost("gemm_fprop", {x.rows, w.rows, x.cols}, sm_margin),
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::bf16}}},
                         {w, Access::in, {"w", w.rows, x.cols, {DataType::bf16}}},
                         {y, Access::out, {"y", x.rows, w.rows, {DataType::bf16}}},
                         {bias, Access::in, {"bias", 1, w.rows, {DataType::bf16}}, true}});
}

Operation gemm_dgrad(const View& dy, const View& w, const View& dx, int sm_margin) {
  static const NameId name = intern("gemm_dgrad");
  return make_operation(name, dgrad_cpu, gemm_cost("gemm_dgrad", {dy.rows, w.cols, dy.cols}, sm_margin),
                        {{dy, Access::in, {"dy", dy.rows, dy.cols, {DataType::bf16}}},
                         {w, Access::in, {"w", dy.cols, w.cols, {DataType::bf16}}},
                         {dx, Access::out, {"dx", dy.rows, w.cols, {DataType::bf16}}}});
}

Operation gemm_wgrad(const View& dy, const View& x, const View& dw, int sm_margin) {
  static const NameId name = intern("gemm_wgrad");
  return make_operation(name, wgrad_cpu, gemm_cost("gemm_wgrad", {dy.cols, x.cols, dy.rows}, sm_margin),
                        {{dy, Access::in, {"dy", dy.rows, dy.cols, {DataType::bf16}}},
                         {x, Access::in, {"x", dy.rows, x.cols, {DataType::bf16}}},
                         {dw, Access::inout, {"dw", dy.cols, x.cols, {DataType::f32, DataType::bf16}}}});
}

std::span<const KernelInfo> list_gemm() {
  static constexpr std::array<KernelInfo, 3> kernels{{
      {"gemm", "gemm_fprop", "y [M,N] = x [M,K] w [N,K]^T, perhaps + bias [N]",
       "2 M N K flops; 2 (MK + NK + MN) bytes"},
      {"gemm", "gemm_dgrad", "dx [M,K] = dy [M,N] w [N,K]", "2 M N K flops; 2 (MN + NK + MK) bytes"},
      {"gemm", "gemm_wgrad", "dw [N,K] += dy [M,N]^T x [M,K], dw f32 or bf16",
       "2 M N K flops; 2 (MN + MK) bytes and dw twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
