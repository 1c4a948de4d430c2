// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/adam/adam.hpp"

namespace underlap::kernels {

/// AdamParameters as the inner loop uses them: made in fp64, kept in fp32.
///
///     m = beta1 m + rest1 g,  v = beta2 v + rest2 g^2
///     main = main * decay - step_size * m / (sqrt(v) * root_factor + eps)
///
/// step_size = lr / (1 - beta1^step) and root_factor = 1 / sqrt(1 - beta2^step) are the bias corrections of m and v.
struct AdamCoefficients {
  float beta1, rest1, beta2, rest2, step_size, root_factor, eps, decay;

  explicit AdamCoefficients(const AdamParameters& p)
      : beta1(static_cast<float>(p.beta1)),
        rest1(static_cast<float>(1 - p.beta1)),
        beta2(static_cast<float>(p.beta2)),
        rest2(static_cast<float>(1 - p.beta2)),
        step_size(static_cast<float>(p.lr / (1 - std::pow(p.beta1, static_cast<double>(p.step))))),
        root_factor(static_cast<float>(1 / std::sqrt(1 - std::pow(p.beta2, static_cast<double>(p.step))))),
        eps(static_cast<float>(p.eps)),
        decay(static_cast<float>(1 - p.lr * p.weight_decay)) {}
};

}  // namespace underlap::kernels
