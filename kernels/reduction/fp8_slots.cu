// SPDX-License-Identifier: Apache-2.0
//
// sum_fp8_slots: what n ranks sent in fp8, each under a scale of its own, added in fp32 in the order of ranks.
//
//   slots [n R, C]   | slot 0: rows 0 to R | slot 1: rows R to 2 R | ...    a thread has 8 columns of a row of out, and
//   out   [R, C]     | scale 0 * slot 0 + scale 1 * slot 1 + ...            reads them in every slot: 8 bytes each
//
// n bytes read and 2 or 4 written for each element of out, and 2 n flops: bound by memory.
//
// In a file by itself, since how fp8 is converted depends on the GPU: all else of the reductions is one text for every
// GPU.
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/reduction/slots.cuh"

namespace underlap::cuda {
namespace {

/// The slots of a sum of fp8: [num * rows, cols], of which slot k is the rows from k * rows on.
template <class From>
struct Fp8Slots {
  Rows<const From> all;
  std::int64_t rows = 0;
  int num = 0;
  const float* inverse_scales = nullptr;  // [num]
};

/// As add_slots, of row `row` of all slots, each times its scale.
template <int N, class From>
__device__ void add_fp8_slots(const Fp8Slots<From>& slots, std::int64_t row, std::int64_t col, float (&total)[N]) {
  for (int first = 0; first < slots.num; first += kSlotsInFlight) {
    Group<From, N> group[kSlotsInFlight];
    float scale[kSlotsInFlight];
#pragma unroll
    for (int k = 0; k < kSlotsInFlight; ++k) {
      const int slot = first + k < slots.num ? first + k : first;
      group[k] = load<N>(slots.all.at(slot * slots.rows + row, col));
      scale[k] = slots.inverse_scales[slot];
    }
#pragma unroll
    for (int k = 0; k < kSlotsInFlight; ++k) {
      if (first + k < slots.num) {  // a break would put each load after the sum before it
        float values[N];
        widen_group(group[k], values);
        for (int i = 0; i < N; ++i) total[i] += values[i] * scale[k];
      }
    }
  }
}

template <class From, class To, int N>
__global__ void sum_fp8_slots_kernel(Fp8Slots<From> slots, Rows<To> out) {
  for_each_group<N, 1>(
      out.rows, out.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t row, std::int64_t col, int) {
        float total[n()] = {};
        add_fp8_slots(slots, row, col, total);
        Group<To, n()> sum;
        for (int i = 0; i < n(); ++i) sum.element[i] = narrowed<To>(total[i]);
        store(out.at(row, col), sum);
      });
}

template <class From, class To>
void launch_sum_fp8_slots(const Arguments& views, LaunchContext& context) {
  const auto all = rows_of<const From>(views[0]);
  const auto out = rows_of<To>(views[2]);
  const Fp8Slots<From> slots{all, out.rows, static_cast<int>(views[1].cols), views[1].as<const float>()};
  const int group = group_for(8, all, out);
  launch(group == 1 ? sum_fp8_slots_kernel<From, To, 1> : sum_fp8_slots_kernel<From, To, 8>,
         blocks_of_groups(out.rows, out.cols, group, 1), context.stream, slots, out);
}

}  // namespace

void sum_fp8_slots_cuda(const Arguments& views, LaunchContext& context) {
  with_fp8_type(views[0].dtype, [&]<class From>(From*) {
    with_float_type(views[2].dtype, [&]<class To>(To*) { launch_sum_fp8_slots<From, To>(views, context); });
  });
}

}  // namespace underlap::cuda
