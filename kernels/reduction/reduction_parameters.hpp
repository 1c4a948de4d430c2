// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

/// Of clip_factor, its bound; of sum_slots, its factor.
struct ReductionParameters {
  double value = 0;
};

}  // namespace underlap::kernels
