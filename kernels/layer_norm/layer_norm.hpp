// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// The tensors of layer_norm_forward.
struct LayerNormForward {
  View x;       ///< [T, H] bf16
  View weight;  ///< [1, H] bf16
  View bias;    ///< [1, H] bf16
  View out;     ///< [T, H] bf16, out
  View mean;    ///< [1, T] f32, out: of each row, kept for the backward pass
  View rstd;    ///< [1, T] f32, out: 1 / sqrt(variance of the row + epsilon), kept likewise
};

/// Shifts and scales each row of x to mean 0 and variance 1, then by weight and bias: out = (x - mean) * rstd * weight
/// + bias, rounded once.
///
/// epsilon  added to the variance, at least 0
/// Throws std::invalid_argument for shapes that do not fit.
/// Source: Ba et al. 2016, eq. 4. Traffic: 2 * 2 T H + 4 H + 8 T bytes.
Operation layer_norm_forward(const LayerNormForward& tensors, double epsilon);

/// The tensors of layer_norm_dgrad.
struct LayerNormDgrad {
  View x;         ///< [T, H] bf16, the input of the forward pass
  View weight;    ///< [1, H] bf16
  View mean;      ///< [1, T] f32, of the forward pass
  View rstd;      ///< [1, T] f32, of the forward pass
  View dout;      ///< [T, H] bf16
  View residual;  ///< [T, H] bf16, the gradient that reaches x past the norm
  View dx;        ///< [T, H] bf16, out
};

/// dx = residual + rstd * (s - mean(s) - n * mean(s * n)) with s = dout * weight and n = (x - mean) * rstd, row by row,
/// rounded once.
///
/// Throws std::invalid_argument for shapes that do not fit.
/// Source: derivative of layer_norm_forward. Traffic: 4 * 2 T H + 2 H + 8 T bytes.
Operation layer_norm_dgrad(const LayerNormDgrad& tensors);

/// The tensors of layer_norm_wgrad.
struct LayerNormWgrad {
  View x;        ///< [T, H] bf16
  View mean;     ///< [1, T] f32
  View rstd;     ///< [1, T] f32
  View dout;     ///< [T, H] bf16
  View dweight;  ///< [1, H] f32 or bf16, added to
  View dbias;    ///< [1, H] f32 or bf16, added to
};

/// dweight += sum over t of dout[t] * (x[t] - mean[t]) * rstd[t], dbias += sum over t of dout[t], each summed in fp32
/// (on the CPU in token order) and added once.
///
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 2 * 2 T H + 8 T bytes, dweight and dbias twice.
Operation layer_norm_wgrad(const LayerNormWgrad& tensors);

}  // namespace underlap::kernels
