// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

/// Of rms_norm_forward.
struct RmsNormParameters {
  double epsilon = 0;
};

}  // namespace underlap::kernels
