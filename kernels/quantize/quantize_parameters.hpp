// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

/// Of fp8_scale: the largest finite value of the format.
struct QuantizeParameters {
  float largest_finite = 0;
};

}  // namespace underlap::kernels
