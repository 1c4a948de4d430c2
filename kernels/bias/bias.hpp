// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

// The biases of linear layers where neither their product nor their activation adds them: a row-parallel layer's, which
// is added once its parts are summed up, with the residual; and the gradients of all.

/// out = residual + (x + bias), added in fp32 and rounded once.
///
/// residual, x, out  [T, H] bf16
/// bias              [1, H] bf16, of each row
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 6 T H + 2 H bytes.
/// Source: Megatron Core's bias_dropout_add_fused without dropout.
Operation biased_residual_add(const View& residual, const View& x, const View& bias, const View& out);

/// dbias += the sums of dy's columns, in fp32 (on the CPU in row order) and added once.
///
/// dy     [T, N] bf16
/// dbias  [1, N] f32 or bf16, added to
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 2 T N bytes, and dbias twice.
Operation bias_wgrad(const View& dy, const View& dbias);

}  // namespace underlap::kernels
