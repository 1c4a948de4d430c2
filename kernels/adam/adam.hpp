// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// The tensors of one Adam step over n parameters, all [1, n] unless noted.
struct AdamTensors {
  View grad;         ///< f32 or bf16
  View grad_factor;  ///< [1, 1] f32: every gradient is multiplied by it first (clipping, loss scale)
  View main;         ///< f32, main parameters, updated
  View m;            ///< f32, mean of gradients, updated
  View v;            ///< f32, mean of squared gradients, updated
  View param;        ///< bf16, out: main rounded; empty if not needed
  View nonfinite;    ///< [1, 1] i32: set to 1 where a gradient is infinite or NaN, else left as it was
};

struct AdamParameters {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;  ///< decoupled: main -= lr * weight_decay * main
  std::int64_t step = 1;      ///< 1 for the first step: the exponent of the bias correction
};

/// One step of AdamW with bias correction, element by element in fp32.
///
/// An element's result depends on that element alone, so a shard equals the slice of the whole bit for bit. An element
/// whose scaled gradient is not finite keeps main, m and v.
/// Throws std::invalid_argument for shapes that do not fit, step < 1 or a beta outside [0, 1).
/// Source: Loshchilov & Hutter 2019, algorithm 2. Traffic: 26 n bytes and the gradient; 24 without param.
Operation adam(const AdamTensors& tensors, const AdamParameters& parameters);

}  // namespace underlap::kernels
