// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// y = x w^T, the forward pass of a linear layer.
///
/// x  [M, K] bf16
/// w  [N, K] bf16
/// y  [M, N] bf16, accumulated in fp32 and rounded once
/// Views may be strided. The form runs on as many OpenMP threads as its caller has set; on one thread count it is
/// deterministic. All GEMMs: 2 M N K floating-point operations; every operand moves once.
/// sm_margin  multiprocessors of a GPU that the product leaves free, for what runs beside it
/// Throws std::invalid_argument for shapes that do not fit, and for a negative margin.
Operation gemm_fprop(const View& x, const View& w, const View& y, int sm_margin = 0);

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

/// How a GEMM's CPU form computes.
enum class GemmPath : std::uint8_t {
  native_bf16,     ///< oneDNN's bf16 matmul: needs AVX-512 BF16 or AMX
  converted_fp32,  ///< inputs widened to fp32, oneDNN's sgemm: any machine
};

/// The path that this machine's GEMMs take, from the instruction set that oneDNN finds in effect.
GemmPath effective_gemm_path();

/// c = a b or c += a b on one path, whatever the machine prefers.
struct GemmCall {
  BoundView a;  ///< [m, k] bf16 or fp8, or [k, m] with transpose_a
  BoundView b;  ///< [k, n] bf16 or fp8, or [n, k] with transpose_b
  BoundView c;  ///< [m, n] bf16 or f32
  /// fp8 only: what a and b stand for is their elements times these, one float each, where the views have their memory.
  const float* a_inverse_scale = nullptr;
  const float* b_inverse_scale = nullptr;
  /// fp8 only: whether a GPU promotes its sums to full fp32 as it goes. Without, it may sum with fewer bits, faster
  /// (cuBLASLt's fast accumulation). The CPU form always sums in fp32.
  bool use_split_accumulator = true;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  ///< c += a b instead of c = a b
};

/// Runs `call` on the calling thread. native_bf16 needs a machine that has it: oneDNN throws dnnl::error otherwise.
/// fp8 operands are widened, which is exact: to bf16 or to fp32 as the path has it.
void run_gemm(const GemmCall& call, GemmPath path);

}  // namespace underlap::kernels
