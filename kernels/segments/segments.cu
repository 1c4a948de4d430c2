// SPDX-License-Identifier: Apache-2.0
//
// amax and quantize of many consecutive tensors in a buffer, in one launch for all of them: a launch for each would
// cost more than the work on a small tensor.
//
//   buffer        |      segment 0       |1|            2            |    3 ...
//   blocks        |    chunk 0    |    chunk 1    |    chunk 2    |    chunk 3 ...       16384 elements each
//   chunk 1                       |  0   |1|  2   |
//
// Work is divided by elements and not by tensors, so that blocks are equally busy for all tensor sizes. A block finds
// the first segment of its chunk by bisection and walks on from there; each run has one scale, or one maximum.
//
//   bytes and flops an element   segmented_amax 4 read, 1     segmented_quantize 4 read and 1 written, 1
//
// Bound by memory. Agrees with the CPU to the bit: a maximum has no order, and a cast rounds once. Source: the chunks
// of multi_tensor_apply in NVIDIA's Apex.
#include <array>

#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/segments/segments.hpp"

namespace underlap::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// 64 KiB of f32, four iterations of a block's loads, which makes the cost of the search for its segment negligible.
constexpr std::int64_t kChunk = 16384;
/// Elements that a thread moves per access: 16 bytes of f32.
constexpr int kWide = 4;
/// Groups that a thread loads before it processes the first.
constexpr int kInFlight = 4;

struct Stretch {
  const float* x;
  std::int64_t elements;
  const std::int32_t* begins;
  std::int64_t num_segments;
  std::int64_t first;

  /// Where segment s begins; the first one where the stretch does, one past the last where it ends.
  __device__ std::int64_t border(std::int64_t s) const {
    if (s <= 0) return 0;
    if (s >= num_segments) return elements;
    const std::int64_t at = begins[s] * kernels::kSegmentUnit - first;
    return at < 0 ? 0 : at < elements ? at : elements;
  }
  /// The last segment that begins at `element` or before.
  __device__ std::int64_t segment_of(std::int64_t element) const {
    std::int64_t low = 0, high = num_segments;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      if (border(middle) <= element)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
};

/// Calls `run(s, begin, end)` for what this block's chunk has of each segment. All threads make the same calls, so
/// there may be barriers in them.
template <class Run>
__device__ void for_each_run(const Stretch& stretch, Run run) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * kChunk;
  const std::int64_t end = begin + kChunk < stretch.elements ? begin + kChunk : stretch.elements;
  std::int64_t at = begin;
  for (std::int64_t s = stretch.segment_of(begin); at < end; ++s) {
    const std::int64_t border = stretch.border(s + 1), stop = border < end ? border : end;
    if (at < stop) run(s, at, stop);
    at = at < stop ? stop : at;
  }
}

/// Calls `wide(i, group)` for groups of kWide elements of x[begin, end) that begin at a multiple of kWide, and
/// `narrow(i)` for single ones before and after them. If groups are not `aligned`, all are single. Segments begin at
/// multiples of 64 elements: if the stretch does too, single ones are only at its end.
template <class Wide, class Narrow>
__device__ void for_each_element(const float* x, std::int64_t begin, std::int64_t end, bool aligned, Wide wide,
                                 Narrow narrow) {
  constexpr std::int64_t kStride = kWide * kThreads;
  const std::int64_t up = (begin + kWide - 1) / kWide * kWide, down = end / kWide * kWide;
  const std::int64_t first = aligned && up < down ? up : end, last = aligned && up < down ? down : end;
  for (std::int64_t i = begin + threadIdx.x; i < first; i += kThreads) narrow(i);
  for (std::int64_t i = first + kWide * threadIdx.x; i < last; i += kStride * kInFlight) {
    Group<float, kWide> group[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) group[k] = load<kWide>(x + (i + k * kStride < last ? i + k * kStride : i));
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (i + k * kStride >= last) break;
      wide(i + k * kStride, group[k]);
    }
  }
  for (std::int64_t i = last + threadIdx.x; i < end; i += kThreads) narrow(i);
}

/// One atomicMax a run, of whole numbers: blocks that share a segment may come in any order.
__global__ void segmented_amax_kernel(Stretch stretch, bool aligned, std::uint32_t* out) {
  __shared__ std::uint32_t slots[kMaxWarps];
  for_each_run(stretch, [&](std::int64_t s, std::int64_t begin, std::int64_t end) {
    std::uint32_t largest = 0;
    const auto take = [&](float value) { largest = Max()(largest, __float_as_uint(value) & 0x7FFFFFFFU); };
    for_each_element(
        stretch.x, begin, end, aligned,
        [&](std::int64_t, const auto& group) {
          for (int k = 0; k < kWide; ++k) take(group.element[k]);
        },
        [&](std::int64_t i) { take(stretch.x[i]); });
    largest = combine_block(largest, 0U, slots, Max());
    if (threadIdx.x == 0) atomicMax(out + s, largest);
    __syncthreads();  // the slots are read before the next run's values are written
  });
}

/// A run has one scale, whose reciprocal each thread takes once.
template <class To>
__global__ void segmented_quantize_kernel(Stretch stretch, bool aligned, Rows<const float> inverse_scales, To* q) {
  for_each_run(stretch, [&](std::int64_t s, std::int64_t begin, std::int64_t end) {
    const float scale = __fdiv_rn(1.0F, *inverse_scales.at(s, 0));
    for_each_element(
        stretch.x, begin, end, aligned,
        [&](std::int64_t i, const auto& group) {
          float scaled[kWide];
          for (int k = 0; k < kWide; ++k) scaled[k] = group.element[k] * scale;
          Group<To, kWide> result;
          narrow_group(scaled, result);
          store(q + i, result);
        },
        [&](std::int64_t i) {
          const float scaled[1] = {stretch.x[i] * scale};
          Group<To, 1> result;
          narrow_group(scaled, result);
          q[i] = result.element[0];
        });
  });
}

Stretch stretch_of(const Arguments& views) {
  return {.x = views[0].as<const float>(),
          .elements = views[0].cols,
          .begins = views[1].as<const std::int32_t>(),
          .num_segments = views[1].cols,
          .first = views.parameters<std::int64_t>()};
}

bool is_aligned(const BoundView& view, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(view.data) % bytes == 0;
}

LaunchShape chunks_of(const Stretch& stretch) {
  return {.blocks = blocks_for(stretch.elements, kChunk), .threads = kThreads};
}

void segmented_amax_cuda(const Arguments& views, LaunchContext& context) {
  const Stretch stretch = stretch_of(views);
  launch(segmented_amax_kernel, chunks_of(stretch), context.stream, stretch, is_aligned(views[0], 16),
         views[2].as<std::uint32_t>());
}

void segmented_quantize_cuda(const Arguments& views, LaunchContext& context) {
  const Stretch stretch = stretch_of(views);
  const bool aligned = is_aligned(views[0], 16) && is_aligned(views[3], kWide);
  with_fp8_type(views[3].dtype, [&]<class To>(To*) {
    launch(segmented_quantize_kernel<To>, chunks_of(stretch), context.stream, stretch, aligned,
           rows_of<const float>(views[2]), views[3].as<To>());
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_segments() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"segmented_amax", segmented_amax_cuda},
      {"segmented_quantize", segmented_quantize_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
