// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding: the table of angles, and the rotation of each head's pairs in place.
//
//                bytes an element that turns             flops
//   rope         2 read, 2 written                       3      and the table, 4 bytes a position and feature, which
//   rope_table   4 written                               a sine or cosine in fp64, once before training    heads share
//
// A pair's halves lie R/2 features apart. The loop runs over the left halves of all heads, and each thread takes the
// same features of both halves and of the table:
//
//   a head of x   | left: i | right: R/2 + i | stays |        its position's row of the table   | cos: i | sin: i |
//
// Bound by memory: heads of a token are neighbours in the loop, so what they share of the table comes from a cache. A
// group of 8 pairs loads 32 bytes of x and 64 of the table, and a thread has two of them in flight. No sums.
#include <array>
#include <cmath>

#include "kernels/cuda/elements.cuh"
#include "kernels/rope/rope_parameters.hpp"

namespace underlap::cuda {
namespace {

using kernels::RopeParameters;
using kernels::RopeTableParameters;

struct Rope {
  Rows<bf16> x;
  Rows<const float> table;
  std::int64_t head_size, pairs;
  float sign;

  /// Where the pair that is column `col` of the loop has its left half in a row of x.
  __device__ std::int64_t left(std::int64_t col) const { return divided(col, pairs) * head_size + pair(col); }
  __device__ std::int64_t pair(std::int64_t col) const { return col - divided(col, pairs) * pairs; }
  __device__ const float* cosines(std::int64_t row, std::int64_t col) const {
    return table.at(row - divided(row, table.rows) * table.rows, pair(col));
  }
};

template <int N>
struct LoadedPairs {
  Group<bf16, N> left, right;
  Group<float, N> cosines, sines;
};

template <int N>
__global__ void rope_kernel(Rope t) {
  for_each_group<N, 2>(
      t.x.rows, t.x.cols / t.head_size * t.pairs,
      [&](auto n, std::int64_t r, std::int64_t c) {
        const bf16* const left = t.x.at(r, t.left(c));
        const float* const cosines = t.cosines(r, c);
        return LoadedPairs<n()>{load<n()>(left), load<n()>(left + t.pairs), load<n()>(cosines),
                                load<n()>(cosines + t.pairs)};
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        Group<bf16, n()> left, right;
        for (int i = 0; i < n(); ++i) {
          const auto a = static_cast<float>(loaded.left.element[i]), b = static_cast<float>(loaded.right.element[i]);
          const float cosine = loaded.cosines.element[i], sine = t.sign * loaded.sines.element[i];
          left.element[i] = narrowed<bf16>(a * cosine - b * sine);
          right.element[i] = narrowed<bf16>(b * cosine + a * sine);
        }
        bf16* const to = t.x.at(r, t.left(c));
        store(to, left);
        store(to + t.pairs, right);
      });
}

// A group must not reach into the right half, and both halves of every head must begin where one may.
void rope_cuda(const Arguments& views, LaunchContext& context) {
  const auto [head_size, sign] = views.parameters<RopeParameters>();
  const Rope t{.x = rows_of<bf16>(views[0]),
               .table = rows_of<const float>(views[1]),
               .head_size = head_size,
               .pairs = views[1].cols / 2,
               .sign = sign};
  const bool is_whole = t.pairs % 8 == 0 && t.head_size % 8 == 0;
  const int group = is_whole ? group_for(8, t.x, t.table) : 1;
  launch(group == 1 ? rope_kernel<1> : rope_kernel<8>,
         blocks_of_groups(t.x.rows, t.x.cols / t.head_size * t.pairs, group, 2), context.stream, t);
}

__global__ void rope_table_kernel(Rows<float> table, RopeTableParameters p) {
  const std::int64_t pairs = table.cols / 2;
  for_each_group<1, 1>(
      table.rows, pairs, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto, std::int64_t r, std::int64_t c, int) {
        const double frequency = pow(p.base, -2.0 * static_cast<double>(c) / static_cast<double>(table.cols));
        const double angle = static_cast<double>(p.first_position + r) * frequency;
        *table.at(r, c) = static_cast<float>(cos(angle));
        *table.at(r, pairs + c) = static_cast<float>(sin(angle));
      });
}

void rope_table_cuda(const Arguments& views, LaunchContext& context) {
  const auto table = rows_of<float>(views[0]);
  launch(rope_table_kernel, blocks_of_groups(table.rows, table.cols / 2, 1, 1), context.stream, table,
         views.parameters<RopeTableParameters>());
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_rope() {
  static constexpr std::array<CudaImplementationInfo, 3> all{{
      {"rope_table", rope_table_cuda},
      {"rope_forward", rope_cuda},
      {"rope_backward", rope_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
