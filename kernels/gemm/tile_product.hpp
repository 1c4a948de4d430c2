// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "kernels/bf16.hpp"

namespace underlap::kernels {

/// The one tile shape that is multiplied: [kRows, depth] times [depth, kCols], with depth at most kDepth.
///
/// oneDNN sums an element in an order that depends on the shape of the product and on the element's position. A
/// technique that splits a product by rows or columns must not change a bit. So the shape is a multiple of what each
/// oneDNN kernel computes at once: 48 columns with AVX-512, 6 by 16 with AVX2, and 16 by 16 for bf16. No kernel splits
/// the depth again.
template <class T>
struct Tile;
template <>
struct Tile<float> {
  static constexpr std::int64_t kRows = 48, kCols = 96, kDepth = 256;
};
template <>
struct Tile<bf16> {
  static constexpr std::int64_t kRows = 64, kCols = 64, kDepth = 512;
};

/// A dense tile of a, [kRows, depth] or transposed, and a dense tile of b, [depth, kCols] or transposed.
template <class T>
struct TileShape {
  std::int64_t depth = 0;
  bool transpose_a = false, transpose_b = false;

  friend auto operator<=>(const TileShape&, const TileShape&) = default;
  std::int64_t lda() const { return transpose_a ? Tile<T>::kRows : depth; }
  std::int64_t ldb() const { return transpose_b ? depth : Tile<T>::kCols; }
};

// A program links one of two implementations: tile_product_onednn.cpp, or tile_product_loops.cpp for programs that must
// run without oneDNN (40 MB).

/// c [kRows, kCols] = a b, or c += a b. Sums are fp32.
void multiply_tile(const TileShape<float>& shape, const float* a, const float* b, float* c, bool accumulate);
/// The same for bf16 operands. Call it only if multiplies_bf16().
void multiply_tile(const TileShape<bf16>& shape, bf16* a, bf16* b, float* c, bool accumulate);

/// Whether this processor multiplies bf16 in hardware (AMX or AVX-512 BF16) and the linked implementation uses it.
bool multiplies_bf16();

/// Version of oneDNN, "2.7.3"; "none: plain loops" in programs without it.
std::string onednn_version();

}  // namespace underlap::kernels
