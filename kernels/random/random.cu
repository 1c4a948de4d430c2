// SPDX-License-Identifier: Apache-2.0
//
// Normal deviates: 2 or 4 bytes written an element, nothing read.
//
// Philox is a function of (seed, index of a pair) without state, so every thread computes its own elements, and a shard
// of a matrix gets the numbers that the whole matrix has there. Box and Muller's transform makes two deviates of a
// pair:
//
//   element k of the block -> number i in the stream -> philox(i / 2) = (u, v) -> sqrt(-2 ln u) * cos(2 pi v)  i even
//                                                                                 sqrt(-2 ln u) * sin(2 pi v)  i odd
//
// A thread computes a pair when its group of elements comes to a new one, and where a row of the block ends.
//
// The one kernel on this loop that is not bound by memory: a logarithm, a root, a sine and a cosine in fp64 for two
// elements. It runs before training only. The random bits are those of the CPU; logarithm, sine and cosine are the
// device's fp64 ones, which differ from the host's in the last bits: after rounding to fp32 about one deviate in 10^7
// differs, by one unit in its last place. Source: Salmon et al. 2011; Box & Muller 1958.
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/cuda/elements.cuh"
#include "kernels/random/random_parameters.hpp"

namespace underlap::cuda {
namespace {

using kernels::RandomParameters;

/// The first two words of Philox 4x32 with 10 rounds, for the counter (pair, 0).
__device__ uint2 philox(std::uint64_t pair, std::uint64_t key) {
  uint4 counter{static_cast<unsigned>(pair), static_cast<unsigned>(pair >> 32), 0, 0};
  auto key_low = static_cast<unsigned>(key);
  auto key_high = static_cast<unsigned>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const unsigned a_low = 0xD2511F53U * counter.x, a_high = __umulhi(0xD2511F53U, counter.x);
    const unsigned b_low = 0xCD9E8D57U * counter.z, b_high = __umulhi(0xCD9E8D57U, counter.z);
    counter = {b_high ^ counter.y ^ key_low, b_low, a_high ^ counter.w ^ key_high, a_low};
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return {counter.x, counter.y};
}

/// Normal deviates 2 * pair and 2 * pair + 1 of the stream. Half a unit is added to each word, so that no
/// logarithm is that of 0.
__device__ double2 normal_pair(std::uint64_t seed, std::uint64_t pair) {
  const uint2 words = philox(pair, seed);
  constexpr double kUnit = 1.0 / 4294967296.0;
  const double radius = sqrt(-2.0 * log((words.x + 0.5) * kUnit));
  const double angle = 2.0 * std::numbers::pi * (words.y + 0.5) * kUnit;
  return {radius * cos(angle), radius * sin(angle)};
}

/// `cols` elements a row of out. Element k of the block is the deviate `index`; both grow by one along a row, and index
/// leaps over the columns of the matrix that are not the block's where a row ends.
template <class T, int N>
__global__ void random_normal_kernel(Rows<T> out, std::int64_t cols, RandomParameters p) {
  for_each_group<N, 1>(
      out.rows, out.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t r, std::int64_t c, int) {
        const kernels::MatrixBlock& block = p.block;
        const std::int64_t k = p.first_index + r * cols + c;
        const std::int64_t row = divided(k, block.local_cols);
        std::int64_t col = k - row * block.local_cols;
        auto index = static_cast<std::uint64_t>(block.first + row * block.whole_cols + col);
        double2 pair = normal_pair(p.seed, index / 2);
        Group<T, n()> group;
        for (int i = 0; i < n(); ++i) {
          group.element[i] = narrowed<T>(static_cast<float>(p.stddev * (index % 2 == 0 ? pair.x : pair.y)));
          if (i + 1 == n()) break;
          const bool ends_row = ++col == block.local_cols;
          index += ends_row ? static_cast<std::uint64_t>(block.whole_cols - block.local_cols + 1) : 1;
          if (ends_row) col = 0;
          if (ends_row || index % 2 == 0) pair = normal_pair(p.seed, index / 2);
        }
        store(out.at(r, c), group);
      });
}

void random_normal_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class T>(T*) {
    constexpr int kWide = 16 / sizeof(T);
    Rows<T> out = rows_of<T>(views[0]);
    flatten(out);  // which numbers no element anew: k counts row-major
    const int group = group_for(kWide, out);
    launch(group == 1 ? random_normal_kernel<T, 1> : random_normal_kernel<T, kWide>,
           blocks_of_groups(out.rows, out.cols, group, 1), context.stream, out, out.cols,
           views.parameters<RandomParameters>());
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_random() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"random_normal", random_normal_cuda},
      {"random_normal_block", random_normal_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
