// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bf16.hpp"
#include "kernels/operation.hpp"

namespace underlap::kernels {

/// y = x w^T, the forward pass of a linear layer.
///
/// x  [M, K] bf16
/// w  [N, K] bf16
/// y  [M, N] bf16, accumulated in fp32 and rounded once
/// Views may be strided. The implementation runs on the number of OpenMP threads that its caller has set; its result
/// does not depend on it. All GEMMs: 2 M N K floating-point operations; every operand moves once. On a GPU the product
/// leaves sm_margin multiprocessors free for concurrent work. Throws std::invalid_argument for shapes that do not fit,
/// and for a negative margin.
///
/// bias  [1, N] bf16, added to each row before it is rounded; may be empty
Operation gemm_fprop(const View& x, const View& w, const View& y, int sm_margin = 0, const View& bias = {});

/// dx = dy w, the gradient of gemm_fprop's input.
///
/// dy  [M, N] bf16
/// w   [N, K] bf16
/// dx  [M, K] bf16
Operation gemm_dgrad(const View& dy, const View& w, const View& dx, int sm_margin = 0);

/// dw += dy^T x, the gradient of gemm_fprop's weight.
///
/// dy  [M, N] bf16
/// x   [M, K] bf16
/// dw  [N, K] f32, or bf16: then the product is formed in fp32, added, and rounded once
Operation gemm_wgrad(const View& dy, const View& x, const View& dw, int sm_margin = 0);

/// c = a b, c = a b + bias or c += a b.
struct GemmCall {
  BoundView a;                 ///< [m, k] bf16 or fp8, or [k, m] with transpose_a
  BoundView b;                 ///< [k, n] bf16 or fp8, or [n, k] with transpose_b
  BoundView c;                 ///< [m, n] bf16 or f32
  const bf16* bias = nullptr;  ///< [n], added to each row; nullptr: none. Not with accumulate
  /// fp8 only: the factors, one float each, by which the elements of a and b are multiplied. They are in the same
  /// memory as the views.
  const float* a_inverse_scale = nullptr;
  const float* b_inverse_scale = nullptr;
  /// fp8 only: whether a GPU promotes its partial sums to full fp32. Otherwise it may sum faster with fewer bits
  /// (cuBLASLt's fast accumulation). The CPU implementation always sums in fp32.
  bool use_split_accumulator = true;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  ///< c += a b instead of c = a b
};

/// The product that gemm_fprop's implementation is called for, with its views.
GemmCall fprop_call(const Arguments& views);

/// Runs `call` on the calling thread and the OpenMP threads that it has set.
///
/// Sums are fp32. The terms of an element are added in one order, regardless of the rows and columns that are
/// multiplied with it. So a technique that splits a product changes no bit.
void run_gemm(const GemmCall& call);

}  // namespace underlap::kernels
