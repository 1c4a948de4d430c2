// SPDX-License-Identifier: Apache-2.0
// Tile products without oneDNN, for programs whose products run on a GPU and that must be small.
#include <array>
#include <stdexcept>
#include <string>

#include "kernels/attention/block_product.hpp"
#include "kernels/gemm/tile_product.hpp"

namespace underlap::kernels {

void multiply_tile(const TileShape<float>& shape, const float* a, const float* b, float* c, bool accumulate) {
  constexpr std::int64_t kRows = Tile<float>::kRows, kCols = Tile<float>::kCols;
  thread_local std::array<float, Tile<float>::kDepth * kCols> upright;
  if (shape.transpose_b) {
    for (std::int64_t k = 0; k < shape.depth; ++k)
      for (std::int64_t col = 0; col < kCols; ++col)
        upright[static_cast<std::size_t>(k * kCols + col)] = b[col * shape.depth + k];
    b = upright.data();
  }
  multiply({.a = a,
            .a_row = shape.transpose_a ? 1 : shape.depth,
            .a_col = shape.transpose_a ? kRows : 1,
            .b = b,
            .b_row = kCols,
            .c = c,
            .c_row = kCols,
            .m = kRows,
            .n = kCols,
            .k = shape.depth,
            .accumulate = accumulate});
}

void multiply_tile(const TileShape<bf16>&, bf16*, bf16*, float*, bool) {
  throw std::logic_error("these loops do not support bf16 tile products");
}

bool multiplies_bf16() { return false; }

std::string onednn_version() { return "none: plain loops"; }

}  // namespace underlap::kernels
