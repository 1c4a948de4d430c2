// SPDX-License-Identifier: Apache-2.0
//
// Columns of a matrix to blocks of rows and back, for an all-to-all: x and out move once, no flops.
//
//   heads [T, n C]   row t | 0 | 1 | 2 |        blocks [n T, C]   row t | 0 |   row T + t | 1 |   row 2 T + t | 2 |
//
// Both directions walk the rows of blocks, so that a row's columns are contiguous on both sides: accesses are coalesced
// where C elements are at least a few hundred bytes, as the heads of a rank are. The address in `heads` costs one
// division a group, by the number of tokens. Bound by memory. Only the size of an element matters.
#include <array>

#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

template <class T, int N, bool kToBlocks>
__global__ void head_blocks_kernel(Rows<const T> x, Rows<T> out) {
  const std::int64_t tokens = kToBlocks ? x.rows : out.rows;
  const std::int64_t rows = kToBlocks ? out.rows : x.rows, cols = kToBlocks ? out.cols : x.cols;
  // Row r of blocks is row r % T of block r / T, whose columns begin at block * C in `heads`.
  const auto in_heads = [&](const auto& heads, std::int64_t r, std::int64_t c) {
    const std::int64_t block = divided(r, tokens);
    return heads.at(r - block * tokens, block * cols + c);
  };
  for_each_group<N, 4>(
      rows, cols,
      [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(kToBlocks ? in_heads(x, r, c) : x.at(r, c)); },
      [&](auto, std::int64_t r, std::int64_t c, const auto& group) {
        store(kToBlocks ? out.at(r, c) : in_heads(out, r, c), group);
      });
}

template <class T, bool kToBlocks>
void launch_head_blocks(const Arguments& views, LaunchContext& context) {
  constexpr int kWide = 16 / sizeof(T);
  const auto x = rows_of<const T>(views[0]);
  const auto out = rows_of<T>(views[1]);
  const auto rows = kToBlocks ? out.rows : x.rows, cols = kToBlocks ? out.cols : x.cols;
  const int group = cols % kWide == 0 ? group_for(kWide, x, out) : 1;  // every block begins at a whole group
  launch(group == 1 ? head_blocks_kernel<T, 1, kToBlocks> : head_blocks_kernel<T, kWide, kToBlocks>,
         blocks_of_groups(rows, cols, group, 4), context.stream, x, out);
}

template <bool kToBlocks>
void head_blocks_cuda(const Arguments& views, LaunchContext& context) {
  with_element(views[0].dtype, [&]<class T>(T*) { launch_head_blocks<T, kToBlocks>(views, context); });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_head_blocks() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"heads_to_blocks", head_blocks_cuda<true>},
      {"blocks_to_heads", head_blocks_cuda<false>},
  }};
  return all;
}

}  // namespace underlap::cuda
