// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

struct RandomParameters {
  std::uint64_t seed = 0;
  std::int64_t first_index = 0;
  double stddev = 1;
};

}  // namespace underlap::kernels
