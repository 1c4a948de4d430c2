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
// Bound by memory. A group of 8 pairs loads 32 bytes of x and 64 of the table. A thread therefore turns the same pairs
// of two neighboring heads, which share the table's values. Other heads of the token get them from a cache. No sums.
#include <array>
#include <cmath>

#include "kernels/cuda/elements.cuh"
#include "kernels/rope/rope_parameters.hpp"

namespace underlap::cuda {
namespace {

using kernels::RopeParameters;
using kernels::RopeTableParameters;

/// Each thread turns the same pairs of `kHeads` neighboring heads.
template <int kHeads>
struct Rope {
  Rows<bf16> x;
  Rows<const float> table;
  std::int64_t head_size, pairs;
  float sign;

  std::int64_t cols() const { return x.cols / head_size / kHeads * pairs; }
  __device__ std::int64_t pair(std::int64_t col) const { return col - divided(col, pairs) * pairs; }
  /// The left half of pair `col` of the loop, in the first of its heads.
  __device__ bf16* left(std::int64_t row, std::int64_t col) const {
    return x.at(row, divided(col, pairs) * kHeads * head_size + pair(col));
  }
  __device__ const float* cosines(std::int64_t row, std::int64_t col) const {
    return table.at(row - divided(row, table.rows) * table.rows, pair(col));
  }
};

template <int N, int kHeads>
struct LoadedPairs {
  Group<bf16, N> left[kHeads], right[kHeads];
  Group<float, N> cosines, sines;
};

template <int N, int kHeads>
__global__ void rope_kernel(Rope<kHeads> t, std::int64_t cols) {
  for_each_group<N, 1>(
      t.x.rows, cols,
      [&](auto n, std::int64_t r, std::int64_t c) {
        const bf16* const left = t.left(r, c);
        const float* const cosines = t.cosines(r, c);
        LoadedPairs<n(), kHeads> loaded;
        loaded.cosines = load<n()>(cosines);
        loaded.sines = load<n()>(cosines + t.pairs);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          loaded.left[h] = load<n()>(left + h * t.head_size);
          loaded.right[h] = load<n()>(left + h * t.head_size + t.pairs);
        }
        return loaded;
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        bf16* const to = t.left(r, c);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          Group<bf16, n()> left, right;
          for (int i = 0; i < n(); ++i) {
            const auto a = static_cast<float>(loaded.left[h].element[i]);
            const auto b = static_cast<float>(loaded.right[h].element[i]);
            const float cosine = loaded.cosines.element[i], sine = t.sign * loaded.sines.element[i];
            left.element[i] = narrowed<bf16>(a * cosine - b * sine);
            right.element[i] = narrowed<bf16>(b * cosine + a * sine);
          }
          store(to + h * t.head_size, left);
          store(to + h * t.head_size + t.pairs, right);
        }
      });
}

template <int N, int kHeads>
void launch_rope(const Arguments& views, LaunchContext& context) {
  const auto [head_size, sign] = views.parameters<RopeParameters>();
  const Rope<kHeads> t{.x = rows_of<bf16>(views[0]),
                       .table = rows_of<const float>(views[1]),
                       .head_size = head_size,
                       .pairs = views[1].cols / 2,
                       .sign = sign};
  launch(rope_kernel<N, kHeads>, blocks_of_groups(t.x.rows, t.cols(), N, 1), context.stream, t, t.cols());
}

// A group must not reach into the right half, and both halves of every head must begin where one may.
void rope_cuda(const Arguments& views, LaunchContext& context) {
  const std::int64_t head_size = views.parameters<RopeParameters>().head_size;
  const bool is_whole = views[1].cols / 2 % 8 == 0 && head_size % 8 == 0 &&
                        group_for(8, rows_of<bf16>(views[0]), rows_of<const float>(views[1])) == 8;
  if (!is_whole) return launch_rope<1, 1>(views, context);
  if (views[0].cols / head_size % 2 != 0) return launch_rope<8, 1>(views, context);
  launch_rope<8, 2>(views, context);
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
