// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/adam/adam.hpp"

namespace underlap::kernels {

/// AdamParameters as the inner loop uses them, in fp32.
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
