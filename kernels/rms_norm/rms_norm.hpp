// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// Scales each row of x to unit root mean square, then by weight: out = x * rstd * weight.
///
/// x, out   [T, H] bf16
/// weight   [1, H] bf16
/// rstd     [1, T] f32, out: 1 / sqrt(mean square of the row + epsilon), kept for the backward pass
/// epsilon  added to the mean square, dimensionless, at least 0
/// Throws std::invalid_argument for shapes that do not fit.
/// Source: Zhang & Sennrich 2019, eq. 4. Traffic: 2 * 2 T H + 2 H + 4 T bytes.
Operation rms_norm_forward(const View& x, const View& weight, const View& out, const View& rstd, double epsilon);

/// The tensors of rms_norm_dgrad.
struct RmsNormDgrad {
  View x;         ///< [T, H] bf16, the input of the forward pass
  View weight;    ///< [1, H] bf16
  View rstd;      ///< [1, T] f32, of the forward pass
  View dout;      ///< [T, H] bf16
  View residual;  ///< [T, H] bf16, the gradient that reaches x past the norm
  View dx;        ///< [T, H] bf16, out
};

/// dx = residual + rstd * (dout * weight - x * rstd^2 * mean(dout * weight * x)), row by row, rounded once.
///
/// Throws std::invalid_argument for shapes that do not fit.
/// Source: derivative of rms_norm_forward. Traffic: 4 * 2 T H + 2 H + 4 T bytes.
Operation rms_norm_dgrad(const RmsNormDgrad& tensors);

/// dweight += sum over t of dout[t] * x[t] * rstd[t], summed in fp32 (on the CPU in token order) and added once.
///
/// x, dout  [T, H] bf16
/// rstd     [1, T] f32
/// dweight  [1, H] f32 or bf16, added to
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 2 * 2 T H + 4 T bytes and dweight twice.
Operation rms_norm_wgrad(const View& x, const View& rstd, const View& dout, const View& dweight);

}  // namespace underlap::kernels
