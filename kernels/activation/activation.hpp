// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

// All activations compute in fp32 and round once. They throw std::invalid_argument for shapes that do not fit.
// With `bias`, [1, columns of x] bf16, they use x + bias in place of x. The gradient of the bias is then the sum over
// the rows of dx. This matches Megatron Core's bias_activation_fusion. The bias adds to the traffic.

/// out = silu(gate) * up, with silu(z) = z * sigmoid(z).
///
/// x    [T, 2 F] bf16: gate in columns [0, F), up in [F, 2 F)
/// out  [T, F] bf16
/// Source: Shazeer 2020, eq. 6. Traffic: 6 T F bytes.
Operation swiglu_forward(const View& x, const View& out, const View& bias = {});

/// dx = (dout * up * silu'(gate) | dout * silu(gate)).
///
/// x, dx  [T, 2 F] bf16
/// dout   [T, F] bf16
/// Traffic: 10 T F bytes.
Operation swiglu_backward(const View& x, const View& dout, const View& dx, const View& bias = {});

/// out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))): the tanh form, which Megatron's fused GELU computes,
/// not the error-function form.
///
/// x, out  [T, F] bf16
/// Source: Hendrycks & Gimpel 2016, section 2. Traffic: 4 T F bytes.
Operation gelu_forward(const View& x, const View& out, const View& bias = {});

/// dx = dout * gelu'(x), the derivative of the tanh form. All [T, F] bf16. Traffic: 6 T F bytes.
Operation gelu_backward(const View& x, const View& dout, const View& dx, const View& bias = {});

/// out = max(x, 0)^2. Both [T, F] bf16. Source: So et al. 2021. Traffic: 4 T F bytes.
Operation squared_relu_forward(const View& x, const View& out, const View& bias = {});

/// dx = dout * 2 max(x, 0). All [T, F] bf16. Traffic: 6 T F bytes.
Operation squared_relu_backward(const View& x, const View& dout, const View& dx, const View& bias = {});

}  // namespace underlap::kernels
