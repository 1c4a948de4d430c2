// SPDX-License-Identifier: Apache-2.0
//
// f32 to bf16 and back: 4 bytes read and 2 written an element, or the reverse, and no flops.
//
//   f32 -> bf16   a group of 8: two accesses of 16 bytes in, one out      2 groups in flight
//   bf16 -> f32   a group of 8: one access of 16 bytes in, two out        4 groups in flight
//
// Bound by memory. Agrees with the CPU to the bit: narrowing is one instruction (cvt.rn.bf16.f32: to nearest, ties to
// even), widening is exact.
#include <array>

#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

/// Groups in flight: 64 bytes of x, four accesses of 16.
template <class From>
constexpr int kInFlight = sizeof(From) == 4 ? 2 : 4;

template <class From, class To, int N>
__global__ void cast_kernel(Rows<const From> x, Rows<To> out) {
  for_each_group<N, kInFlight<From>>(
      out.rows, out.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(r, c)); },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& from) {
        Group<To, n()> to;
        for (int i = 0; i < n(); ++i) to.element[i] = narrowed<To>(static_cast<float>(from.element[i]));
        store(out.at(r, c), to);
      });
}

template <class From, class To>
void launch_cast(const Arguments& views, LaunchContext& context) {
  auto x = rows_of<const From>(views[0]);
  auto out = rows_of<To>(views[1]);
  flatten(x, out);
  const int group = group_for(8, x, out);
  launch(group == 1 ? cast_kernel<From, To, 1> : cast_kernel<From, To, 8>,
         blocks_of_groups(out.rows, out.cols, group, kInFlight<From>), context.stream, x, out);
}

void cast_cuda(const Arguments& views, LaunchContext& context) {
  if (views[0].dtype == DataType::f32) return launch_cast<float, bf16>(views, context);
  launch_cast<bf16, float>(views, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_cast() {
  static constexpr std::array<CudaImplementationInfo, 1> all{{{"cast", cast_cuda}}};
  return all;
}

}  // namespace underlap::cuda
