// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// Where the stretch begins, in elements.
struct SegmentsParameters {
  std::int64_t first = 0;
};

}  // namespace underlap::kernels
