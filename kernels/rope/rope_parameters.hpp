// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// Of rope_forward and rope_backward.
struct RopeParameters {
  std::int64_t head_size = 0;
  float sign = 1;  ///< of the angles
};

/// Of rope_table.
struct RopeTableParameters {
  std::int64_t first_position = 0;
  double base = 0;
};

}  // namespace underlap::kernels
