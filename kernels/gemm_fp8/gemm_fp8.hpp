// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// Elements from one scale to the next where a tensor holds several: cuBLASLt of CUDA 12.9 to 13.1 takes a scale only
/// from a multiple of 16 bytes.
inline constexpr std::int64_t kScaleStride = 4;

/// The tensors of a product of two fp8 matrices whose rows both run along the summed dimension: the one arrangement
/// that a GPU's fp8 multiplication takes. The forward pass has a = x, b = w; the input's gradient a = dy, b = w^T; the
/// weight's gradient a = dy^T, b = x^T, where ^T is a transposed copy (kernels/transpose).
struct Fp8Product {
  View a;                ///< [M, K] f8e4m3 or f8e5m2
  View a_inverse_scale;  ///< [1, 1] f32, its offset a multiple of kScaleStride
  View b;                ///< [N, K] f8e4m3 or f8e5m2; not both are f8e5m2
  View b_inverse_scale;  ///< [1, 1] f32, likewise
  View c;                ///< [M, N] bf16 or f32
  View bias = {};        ///< [1, N] bf16, added to each row before it is rounded; none: nothing is. Not with accumulate
  bool accumulate = false;
  /// Transformer Engine's default recipe has it in both backward products, and not in the forward one, whose sums a
  /// GPU may then keep in fewer bits than fp32 has, and faster.
  bool use_split_accumulator = true;
  int sm_margin = 0;  ///< multiprocessors of a GPU that the product leaves free
};

/// c = a b^T * a_inverse_scale * b_inverse_scale, or c += that; accumulated in fp32 and rounded once.
///
/// 2 M N K floating-point operations; a and b once, c once, and twice where it is added to.
/// The CPU implementation widens to bf16, or to fp32 where the machine multiplies no bf16. The CUDA implementation is
/// cuBLASLt's; it throws MachineError on GPUs before compute capability 8.9, which cannot multiply fp8. Throws
/// std::invalid_argument unless K is a multiple of 16 and M and N are of 8, which fp8 products of GPUs need, for shapes
/// that do not fit, two f8e5m2 operands, and a negative margin.
Operation gemm_fp8(const Fp8Product& product);

}  // namespace underlap::kernels
