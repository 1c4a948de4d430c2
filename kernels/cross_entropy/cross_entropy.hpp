// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// loss += scale * sum over t of (lse[t] - logits[t, targets[t]]), and lse[t] = log sum over v of exp(logits[t, v]).
///
/// logits   [T, V] bf16
/// targets  [1, T] i32, each in [0, V)
/// lse      [1, T] f32, out
/// loss     [1, 1] f32, added to; the sum over tokens is fp64 in token order and is added once
/// scale    e.g. 1 / (tokens of the global batch), dimensionless
/// Throws std::invalid_argument for shapes that do not fit; the form throws it for a target outside [0, V).
/// Traffic: 2 T V + 8 T bytes.
Operation cross_entropy_forward(const View& logits, const View& targets, const View& lse, const View& loss,
                                double scale);

/// dlogits[t, v] = scale * (exp(logits[t, v] - lse[t]) - [v == targets[t]]).
///
/// logits, dlogits  [T, V] bf16
/// targets          [1, T] i32
/// lse              [1, T] f32, of cross_entropy_forward
/// Throws as cross_entropy_forward does. Traffic: 4 T V + 8 T bytes.
Operation cross_entropy_backward(const View& logits, const View& targets, const View& lse, const View& dlogits,
                                 double scale);

}  // namespace underlap::kernels
