// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

/// Of layer_norm_forward.
struct LayerNormParameters {
  double epsilon = 0;
};

}  // namespace underlap::kernels
