// SPDX-License-Identifier: Apache-2.0
//
// Biases of linear layers: added with the residual, and their gradients.
//
//                         bytes an element        flops
//   biased_residual_add   2 + 2 read, 2 written   2       two loads a group, two groups in flight; the bias is cached
//   bias_wgrad            2 read                  1       and 4 N bytes a block, written and read again
//
// Bound by memory. biased_residual_add is one pass in which each thread takes groups of 8 columns of any row.
// bias_wgrad is column_sums.cuh: blocks share the rows, threads the columns, and their sums are added in a fixed order.
#include <array>
#include <utility>

#include "kernels/cuda/column_sums.cuh"

namespace underlap::cuda {
namespace {

template <int N>
__global__ void biased_residual_add_kernel(Rows<const bf16> residual, Rows<const bf16> x, const bf16* bias,
                                           Rows<bf16> out) {
  for_each_group<N, 2>(
      out.rows, out.cols,
      [&](auto n, std::int64_t r, std::int64_t c) {
        return std::pair(load<n()>(residual.at(r, c)), load<n()>(x.at(r, c)));
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        const auto of_column = load<n()>(bias + c);
        Group<bf16, n()> sum;
        for (int i = 0; i < n(); ++i)
          sum.element[i] =
              narrowed<bf16>(static_cast<float>(loaded.first.element[i]) +
                             (static_cast<float>(loaded.second.element[i]) + static_cast<float>(of_column.element[i])));
        store(out.at(r, c), sum);
      });
}

void biased_residual_add_cuda(const Arguments& views, LaunchContext& context) {
  const auto residual = rows_of<const bf16>(views[0]), x = rows_of<const bf16>(views[1]),
             bias = rows_of<const bf16>(views[2]);
  const auto out = rows_of<bf16>(views[3]);
  const int group = group_for(8, residual, x, bias, out);
  launch(group == 1 ? biased_residual_add_kernel<1> : biased_residual_add_kernel<8>,
         blocks_of_groups(out.rows, out.cols, group, 2), context.stream, residual, x, bias.data, out);
}

/// Each element as it is.
struct Elements {
  static constexpr int kSums = 1;
  Rows<const bf16> x;

  template <int N>
  __device__ Group<bf16, N> load(std::int64_t row, std::int64_t col) const {
    return cuda::load<N>(x.at(row, col));
  }
  template <int N>
  __device__ void add(const Group<bf16, N>& loaded, float (&totals)[1][N]) const {
    for (int i = 0; i < N; ++i) totals[0][i] += static_cast<float>(loaded.element[i]);
  }
};

void bias_wgrad_cuda(const Arguments& views, LaunchContext& context) {
  const Elements terms{rows_of<const bf16>(views[0])};
  launch_column_sums(terms, terms.x.rows, terms.x.cols, are_grouped(terms.x), {views[1]}, context.num_sms, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_bias() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"biased_residual_add", biased_residual_add_cuda},
      {"bias_wgrad", bias_wgrad_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
