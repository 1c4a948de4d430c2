// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// Columns of b and c come in whole groups of this many.
inline constexpr std::int64_t kBlockColumns = 16;

/// c = a b, or c += a b: fp32 matrices small enough to stay in cache.
struct BlockProduct {
  const float* a = nullptr;  ///< [m, k]; element (i, l) at a[i * a_row + l * a_col], so a transpose costs nothing
  std::int64_t a_row = 0;
  std::int64_t a_col = 0;
  const float* b = nullptr;  ///< [k, n], rows b_row apart
  std::int64_t b_row = 0;
  float* c = nullptr;  ///< [m, n], rows c_row apart
  std::int64_t c_row = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;  ///< a multiple of kBlockColumns
  std::int64_t k = 0;
  bool accumulate = false;
};

/// Runs `product`. Every element of c is summed over k in rising order.
void multiply(const BlockProduct& product);

}  // namespace underlap::kernels
