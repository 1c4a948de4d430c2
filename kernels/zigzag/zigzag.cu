// SPDX-License-Identifier: Apache-2.0
//
// Reorders rows between the order of context-parallel ranks and the order of their sequences: x and out move once, no
// flops. zigzag.hpp draws the two orders.
//
// Both directions walk the rows of sequence order and compute the position of each in rank order, which takes two
// divisions a group. They are of 32 bits, which a GPU divides several times as fast as 64 (a call has fewer than 2^31
// rows). Whole rows move, so accesses are coalesced on both sides for any permutation. Bound by memory. Only the size
// of an element matters.
#include <array>

#include "kernels/cuda/elements.cuh"
#include "kernels/zigzag/zigzag_parameters.hpp"

namespace underlap::cuda {
namespace {

using kernels::ZigzagParameters;

template <class T, int N, bool kToSequences>
__global__ void zigzag_kernel(Rows<const T> x, Rows<T> out, ZigzagParameters order) {
  const auto rank_row = [&](std::int64_t r) { return order.in_rank_order(static_cast<std::uint32_t>(r)); };
  for_each_group<N, 4>(
      out.rows, out.cols,
      [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(kToSequences ? rank_row(r) : r, c)); },
      [&](auto, std::int64_t r, std::int64_t c, const auto& group) {
        store(out.at(kToSequences ? r : rank_row(r), c), group);
      });
}

template <class T, bool kToSequences>
void launch_zigzag(const Arguments& views, LaunchContext& context) {
  constexpr int kWide = 16 / sizeof(T);
  const auto x = rows_of<const T>(views[0]);
  const auto out = rows_of<T>(views[1]);
  const int group = group_for(kWide, x, out);
  launch(group == 1 ? zigzag_kernel<T, 1, kToSequences> : zigzag_kernel<T, kWide, kToSequences>,
         blocks_of_groups(out.rows, out.cols, group, 4), context.stream, x, out, views.parameters<ZigzagParameters>());
}

template <bool kToSequences>
void zigzag_cuda(const Arguments& views, LaunchContext& context) {
  with_element(views[0].dtype, [&]<class T>(T*) { launch_zigzag<T, kToSequences>(views, context); });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_zigzag() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"to_sequence_order", zigzag_cuda<true>},
      {"to_rank_order", zigzag_cuda<false>},
  }};
  return all;
}

}  // namespace underlap::cuda
