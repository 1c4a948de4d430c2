// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

/// Of scale and fill.
struct ElementwiseParameters {
  double value = 0;
};

}  // namespace underlap::kernels
