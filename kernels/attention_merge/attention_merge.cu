// SPDX-License-Identifier: Apache-2.0
//
// Attention of tiles put together: merge_lse takes in the lse of one more tile, attention_correction adds a tile's out
// with its weight. Both are element by element.
//
//                          bytes an element                                   flops
//   merge_lse              of lse: 4 + 4 read, 4 written                      5
//   attention_correction   of sum: step_out 2 and sum 4 read, sum 4 written   2
//     of the first tile    of sum: step_out 2 read, sum 4 written             1
//
// Bound by memory: a weight is computed again by every group of columns that it multiplies, from two numbers that lie
// in the cache by then. log1p and exp are those of full precision, since lse is kept in fp32. Agrees with the CPU to a
// few units in the last place of fp32.
#include <array>
#include <cmath>
#include <utility>

#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

/// log(exp(a) + exp(b)); the exponential is of a negative number, so nothing overflows.
__device__ float log_add(float a, float b) { return fmaxf(a, b) + log1pf(expf(-fabsf(a - b))); }

template <int N>
__global__ void merge_lse_kernel(Rows<const float> step, Rows<float> lse) {
  for_each_group<N, 2>(
      lse.rows, lse.cols,
      [&](auto n, std::int64_t r, std::int64_t c) {
        return std::pair(load<n()>(step.at(r, c)), load<n()>(lse.at(r, c)));
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        Group<float, n()> merged;
        for (int i = 0; i < n(); ++i) merged.element[i] = log_add(loaded.second.element[i], loaded.first.element[i]);
        store(lse.at(r, c), merged);
      });
}

void merge_cuda(const Arguments& views, LaunchContext& context) {
  auto step = rows_of<const float>(views[0]);
  auto lse = rows_of<float>(views[1]);
  flatten(step, lse);
  const int group = group_for(4, step, lse);
  launch(group == 1 ? merge_lse_kernel<1> : merge_lse_kernel<4>, blocks_of_groups(lse.rows, lse.cols, group, 2),
         context.stream, step, lse);
}

/// A group of N columns lies inside one head, so it has one weight.
template <int N, bool kIsFirst>
__global__ void correction_kernel(Rows<const bf16> step_out, Rows<const float> step_lse, Rows<const float> lse,
                                  Rows<float> sum, std::int64_t head_size) {
  for_each_group<N, 2>(
      sum.rows, sum.cols, [&](auto n, std::int64_t t, std::int64_t c) { return load<n()>(step_out.at(t, c)); },
      [&](auto n, std::int64_t t, std::int64_t c, const auto& step) {
        const std::int64_t head = divided(c, head_size);
        const float weight = expf(*step_lse.at(head, t) - *lse.at(head, t));
        Group<float, n()> total{};
        if (!kIsFirst) total = load<n()>(sum.at(t, c));
        for (int i = 0; i < n(); ++i) total.element[i] += static_cast<float>(step.element[i]) * weight;
        store(sum.at(t, c), total);
      });
}

template <bool kIsFirst>
void launch_correction(const Arguments& views, LaunchContext& context) {
  const auto step_out = rows_of<const bf16>(views[0]);
  const auto lse = rows_of<const float>(views[2]);
  const auto sum = rows_of<float>(views[3]);
  const std::int64_t head_size = sum.cols / lse.rows;
  const int group = head_size % 8 == 0 ? group_for(8, step_out, sum) : 1;
  launch(group == 1 ? correction_kernel<1, kIsFirst> : correction_kernel<8, kIsFirst>,
         blocks_of_groups(sum.rows, sum.cols, group, 2), context.stream, step_out, rows_of<const float>(views[1]), lse,
         sum, head_size);
}

void correction_cuda(const Arguments& views, LaunchContext& context) {
  if (views.parameters<bool>()) return launch_correction<true>(views, context);
  launch_correction<false>(views, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_attention_merge() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"merge_lse", merge_cuda},
      {"attention_correction", correction_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
