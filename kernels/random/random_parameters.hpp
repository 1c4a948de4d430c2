// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// Where a dense block of some columns of a matrix lies in the whole matrix, which is dense too. All count elements.
struct MatrixBlock {
  std::int64_t local_cols = 0;  ///< columns of the block
  std::int64_t whole_cols = 0;  ///< columns of the matrix
  std::int64_t first = 0;       ///< of the matrix, the element that the block begins with
};

struct RandomParameters {
  std::uint64_t seed = 0;
  std::int64_t first_index = 0;
  double stddev = 1;
  MatrixBlock block{};
};

}  // namespace underlap::kernels
