// SPDX-License-Identifier: Apache-2.0
//
// The three products of a linear layer on the CPU, by oneDNN.
//
//   fprop   y = x w^T     dgrad   dx = dy w     wgrad   dw += dy^T x     a transpose is a stride: nothing is copied
//
//   a, b (bf16, fp8) -> widened to fp32, padded to whole tiles -> sgemm by tiles, over k in parts -> rounded to c
//
// 2 M N K floating-point operations: bound by multiply-adds. Widening is exact; the scale of fp8 operands multiplies
// each part's sum. AMX and AVX-512 BF16 are not used: oneDNN's bf16 matmul is faster with them, and adds up an element
// in an order that depends on what is multiplied with it.
#include "kernels/gemm/gemm.hpp"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <type_traits>

#include "kernels/fp8.hpp"
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

/// A dense fp32 matrix in scratch memory.
BoundView dense_fp32(std::int64_t rows, std::int64_t cols, Scratch& scratch) {
  return {.data = reinterpret_cast<std::byte*>(scratch.take(rows * cols)),
          .dtype = DataType::f32,
          .rows = rows,
          .cols = cols,
          .leading_dimension = cols};
}

float inverse_scale(const GemmCall& call) {
  return is_fp8(call.a.dtype) ? *call.a_inverse_scale * *call.b_inverse_scale : 1.0F;
}

/// c = product, or c += product, rounded where c is bf16.
void store(const BoundView& product, const GemmCall& call) {
  for (std::int64_t r = 0; r < call.c.rows; ++r) {
    const float* const from = product.row<const float>(r);
    with_float_type(call.c.dtype, [&]<class T>(T*) {
      T* const to = call.c.row<T>(r);
      if (call.accumulate)
        add_to(to, from, call.c.cols);
      else if constexpr (std::is_same_v<T, float>)
        std::copy_n(from, call.c.cols, to);
      else
        narrow(from, to, call.c.cols);
    });
  }
}

// sgemm too adds up an element in an order that depends on the shape of the product and on the element's place in it. A
// technique that cuts a product by rows or by columns must move no bit, so sgemm is given one shape alone: multiples of
// what any of its kernels takes at once (48 with AVX-512, 6 by 16 with AVX2), whose elements it treats alike, and a
// part of the inner dimension that it does not cut again.
constexpr std::int64_t kTileRows = 48, kTileCols = 96, kTileDepth = 256;

std::int64_t rounded_up(std::int64_t size, std::int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

/// `view` in fp32, with zeros up to `rows` and `cols`.
BoundView widened(const BoundView& view, std::int64_t rows, std::int64_t cols, Scratch& scratch) {
  const BoundView out = dense_fp32(rows, cols, scratch);
  const auto widen_row = [](const auto* from, float* to, std::int64_t count) {
    if constexpr (std::is_same_v<decltype(from), const float*>)
      std::copy_n(from, count, to);
    else
      widen(from, to, count);
  };
  const auto widen_rows = [&]<class T>(T*) {
    for (std::int64_t r = 0; r < view.rows; ++r) {
      widen_row(view.row<const T>(r), out.row<float>(r), view.cols);
      std::fill_n(out.row<float>(r) + view.cols, cols - view.cols, 0.0F);
    }
  };
  if (is_fp8(view.dtype)) {
    with_fp8_type(view.dtype, widen_rows);
  } else {
    with_float_type(view.dtype, widen_rows);
  }
  std::fill_n(out.as<float>() + view.rows * cols, (rows - view.rows) * cols, 0.0F);
  return out;
}

void fprop_cpu(const Arguments& views) { run_gemm({.a = views[0], .b = views[1], .c = views[2], .transpose_b = true}); }

void dgrad_cpu(const Arguments& views) { run_gemm({.a = views[0], .b = views[1], .c = views[2]}); }

void wgrad_cpu(const Arguments& views) {
  run_gemm({.a = views[0], .b = views[1], .c = views[2], .transpose_a = true, .accumulate = true});
}

// Every operand moves once; an accumulated product is read and written.
Cost gemm_cost(const Extent& extent, std::int64_t bytes_read, std::int64_t bytes_written, int sm_margin) {
  return {.flops = 2.0 * static_cast<double>(extent.m) * static_cast<double>(extent.n) * static_cast<double>(extent.k),
          .bytes_read = bytes_read,
          .bytes_written = bytes_written,
          .sm_margin = sm_margin,
          .work = Work::gemm,
          .extent = {extent.m, extent.n, extent.k}};
}

}  // namespace

// Tile by tile of the product, each by sgemm of that one shape, over k in parts that are added to it in order. Threads
// share the tiles, and each tile has one.
void run_gemm(const GemmCall& call) {
  Scratch scratch;
  const Extent extent = extent_of(call);
  const std::int64_t rows = rounded_up(extent.m, kTileRows), cols = rounded_up(extent.n, kTileCols);
  const auto operand = [&](const BoundView& view, bool transposed, std::int64_t outer, std::int64_t inner) {
    return transposed ? widened(view, inner, outer, scratch) : widened(view, outer, inner, scratch);
  };
  const BoundView a = operand(call.a, call.transpose_a, rows, extent.k);
  const BoundView b = operand(call.b, call.transpose_b, extent.k, cols);
  const BoundView product = dense_fp32(rows, cols, scratch);
  const auto from = [](const BoundView& view, bool transposed, std::int64_t row, std::int64_t col) {
    return transposed ? view.row<const float>(col) + row : view.row<const float>(row) + col;
  };
#ifndef __SANITIZE_THREAD__  // it does not see libgomp's threads meet, and would call the loop a race
#pragma omp parallel for collapse(2)
#endif
  for (std::int64_t row = 0; row < rows; row += kTileRows)
    for (std::int64_t col = 0; col < cols; col += kTileCols)
      for (std::int64_t depth = 0; depth < extent.k; depth += kTileDepth)
        dnnl::sgemm(call.transpose_a ? 'T' : 'N', call.transpose_b ? 'T' : 'N', kTileRows, kTileCols,
                    std::min(kTileDepth, extent.k - depth), inverse_scale(call), from(a, call.transpose_a, row, depth),
                    a.leading_dimension, from(b, call.transpose_b, depth, col), b.leading_dimension,
                    depth == 0 ? 0.0F : 1.0F, product.row<float>(row) + col, cols);
  store(product, call);
}

Operation gemm_fprop(const View& x, const View& w, const View& y, int sm_margin) {
  constexpr auto kName = "gemm_fprop";
  require(kName, sm_margin >= 0, "sm_margin", sm_margin, "at least 0");
  require(kName, x, {"x", x.rows, x.cols, {DataType::bf16}});
  require(kName, w, {"w", w.rows, x.cols, {DataType::bf16}});
  require(kName, y, {"y", x.rows, w.rows, {DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, fprop_cpu, gemm_cost({x.rows, w.rows, x.cols}, x.bytes() + w.bytes(), y.bytes(), sm_margin),
                   {{x, Access::in}, {w, Access::in}, {y, Access::out}});
}

Operation gemm_dgrad(const View& dy, const View& w, const View& dx, int sm_margin) {
  constexpr auto kName = "gemm_dgrad";
  require(kName, sm_margin >= 0, "sm_margin", sm_margin, "at least 0");
  require(kName, dy, {"dy", dy.rows, dy.cols, {DataType::bf16}});
  require(kName, w, {"w", dy.cols, w.cols, {DataType::bf16}});
  require(kName, dx, {"dx", dy.rows, w.cols, {DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, dgrad_cpu,
                   gemm_cost({dy.rows, w.cols, dy.cols}, dy.bytes() + w.bytes(), dx.bytes(), sm_margin),
                   {{dy, Access::in}, {w, Access::in}, {dx, Access::out}});
}

Operation gemm_wgrad(const View& dy, const View& x, const View& dw, int sm_margin) {
  constexpr auto kName = "gemm_wgrad";
  require(kName, sm_margin >= 0, "sm_margin", sm_margin, "at least 0");
  require(kName, dy, {"dy", dy.rows, dy.cols, {DataType::bf16}});
  require(kName, x, {"x", dy.rows, x.cols, {DataType::bf16}});
  require(kName, dw, {"dw", dy.cols, x.cols, {DataType::f32, DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, wgrad_cpu,
                   gemm_cost({dy.cols, x.cols, dy.rows}, dy.bytes() + x.bytes() + dw.bytes(), dw.bytes(), sm_margin),
                   {{dy, Access::in}, {x, Access::in}, {dw, Access::inout}});
}

std::span<const KernelInfo> list_gemm() {
  static constexpr std::array<KernelInfo, 3> kernels{{
      {"gemm", "gemm_fprop", "y [M,N] = x [M,K] w [N,K]^T", "2 M N K flops; 2 (MK + NK + MN) bytes"},
      {"gemm", "gemm_dgrad", "dx [M,K] = dy [M,N] w [N,K]", "2 M N K flops; 2 (MN + NK + MK) bytes"},
      {"gemm", "gemm_wgrad", "dw [N,K] += dy [M,N]^T x [M,K], dw f32 or bf16",
       "2 M N K flops; 2 (MN + MK) bytes and dw twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
