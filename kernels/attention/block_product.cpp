// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices that stay in the cache, by tiles of 6 x 16 of the result that stay in registers.
//
//                  b: 2 vectors of row l
//                  | ....8.... | ....8.... |
//   a: column l |r | sum       | sum       |   for each l: 2 loads of b, 6 broadcasts of a, 12 multiply-adds
//   of 6 rows   |r | sum       | sum       |   c is stored, and loaded if it is added to, once a tile
//               ...
//
// Bound by multiply-adds: a core of this class issues two of them and two loads in a cycle, so 12 against 8 leave loads
// to spare. Nothing is packed, since operands are small. Rows beyond a multiple of 6 go by tiles of 1 to 5.
// Source: Goto & van de Geijn 2008; 6 x 16 is the shape of BLIS's kernel for AVX2.
#include "kernels/attention/block_product.hpp"

#include <cassert>
#include <cstring>

namespace underlap::kernels {
namespace {

// Eight floats, which the compiler keeps in one AVX register, or in two of a narrower machine.
using Float8 = float __attribute__((vector_size(32)));

// 6 rows times 2 vectors are 12 sums; with two of b and one of a they fill AVX2's 16 registers.
constexpr std::int64_t kTileRows = 6;

Float8 load(const float* from) {
  Float8 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void store(float* to, Float8 value) { std::memcpy(to, &value, sizeof value); }

/// Rows [i, i + Rows) of columns [j, j + 16).
template <std::int64_t Rows>
void multiply_tile(const BlockProduct& p, std::int64_t i, std::int64_t j) {
  Float8 left[Rows], right[Rows];
  float* const c = p.c + i * p.c_row + j;
  for (std::int64_t r = 0; r < Rows; ++r) {
    left[r] = p.accumulate ? load(c + r * p.c_row) : Float8{};
    right[r] = p.accumulate ? load(c + r * p.c_row + 8) : Float8{};
  }
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + j;
  for (std::int64_t l = 0; l < p.k; ++l, a += p.a_col, b += p.b_row) {
    const Float8 b_left = load(b), b_right = load(b + 8);
    for (std::int64_t r = 0; r < Rows; ++r) {
      const float factor = a[r * p.a_row];
      left[r] += factor * b_left;
      right[r] += factor * b_right;
    }
  }
  for (std::int64_t r = 0; r < Rows; ++r) {
    store(c + r * p.c_row, left[r]);
    store(c + r * p.c_row + 8, right[r]);
  }
}

void multiply_remaining_rows(const BlockProduct& p, std::int64_t i, std::int64_t j) {
  switch (p.m - i) {
    case 1: return multiply_tile<1>(p, i, j);
    case 2: return multiply_tile<2>(p, i, j);
    case 3: return multiply_tile<3>(p, i, j);
    case 4: return multiply_tile<4>(p, i, j);
    case 5: return multiply_tile<5>(p, i, j);
    default: return;
  }
}

}  // namespace

void multiply(const BlockProduct& p) {
  assert(p.n % kBlockColumns == 0);
  for (std::int64_t j = 0; j < p.n; j += kBlockColumns) {
    std::int64_t i = 0;
    for (; i + kTileRows <= p.m; i += kTileRows) multiply_tile<kTileRows>(p, i, j);
    multiply_remaining_rows(p, i, j);
  }
}

}  // namespace underlap::kernels
