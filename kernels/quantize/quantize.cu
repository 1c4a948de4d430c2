// SPDX-License-Identifier: Apache-2.0
//
// fp8 with one scale a tensor, taken from its current values: the largest magnitude, the scale, the conversions.
//
//   x --> amax --> (ranks take the largest) --> fp8_scale --> inverse_scale --> quantize --> q --> dequantize --> out
//
//                bytes an element               flops
//   amax         2 or 4 read                    1
//   quantize     2 or 4 read, 1 written         1
//   dequantize   1 read, 2 or 4 written         1
//
// Bound by memory. x is read twice, since no element can be converted before all have been read. All agree bitwise with
// the CPU: a maximum has no order, and a conversion rounds once. Source: Micikevicius et al. 2022 for the formats;
// Transformer Engine's current scaling for the recipe.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/reduce.cuh"

namespace underlap::cuda {
namespace {

// Magnitudes compare as their bits do, and every NaN lies above infinity.
__device__ std::uint32_t magnitude_bits(float value) { return __float_as_uint(value) & 0x7FFFFFFFU; }

/// One atomic a block; enough blocks to fill the device, and no more, so that these are few.
constexpr int kMaxAmaxBlocks = 1024;

/// The maximum of a thread in a register, of a block by combine_block, of all blocks by atomicMax: of whole numbers, so
/// its order does not matter.
template <class T, int N>
__global__ void amax_kernel(Rows<const T> x, std::uint32_t* out) {
  __shared__ std::uint32_t slots[kMaxWarps];
  std::uint32_t largest = 0;
  for_each_group<N, 4>(
      x.rows, x.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(r, c)); },
      [&](auto n, std::int64_t, std::int64_t, const auto& group) {
        for (int i = 0; i < n(); ++i) largest = Max()(largest, magnitude_bits(static_cast<float>(group.element[i])));
      });
  largest = combine_block(largest, 0U, slots, Max());
  if (threadIdx.x == 0) atomicMax(out, largest);
}

void amax_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class T>(T*) {
    constexpr int kWide = 16 / sizeof(T);
    auto x = rows_of<const T>(views[0]);
    flatten(x);
    const int group = group_for(kWide, x);
    LaunchShape shape = blocks_of_groups(x.rows, x.cols, group, 4);
    shape.blocks = std::min<unsigned>(shape.blocks, kMaxAmaxBlocks);
    launch(group == 1 ? amax_kernel<T, 1> : amax_kernel<T, kWide>, shape, context.stream, x,
           views[1].as<std::uint32_t>());
  });
}

/// A thread a tensor. IEEE division, as on the CPU: each element of the tensor is scaled by what it gives.
__global__ void fp8_scale_kernel(const float* amax, Rows<float> inverse_scale, std::int64_t count, float largest) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const bool is_finite = amax[i] <= std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::min();
  const float scale = amax[i] == 0 ? 1.0F : fmaxf(__fdiv_rn(amax[i], largest), smallest);
  *inverse_scale.at(i, 0) = is_finite ? scale : std::numeric_limits<float>::quiet_NaN();
}

void fp8_scale_cuda(const Arguments& views, LaunchContext& context) {
  launch(fp8_scale_kernel, {.blocks = blocks_for(views[0].cols, kGroupThreads), .threads = kGroupThreads},
         context.stream, views[0].as<const float>(), rows_of<float>(views[1]), views[0].cols,
         views.parameters<float>());
}

/// Groups of 8: 16 bytes of bf16, 8 of fp8, of which a warp still moves 256 in one piece.
constexpr int kConverted = 8;

/// Both conversions: quantize multiplies by the reciprocal of the inverse scale, which each thread divides once for all
/// of its elements.
template <class From, class To, int N, bool kInverts>
__global__ void convert_kernel(Rows<const From> from, const float* inverse_scale, Rows<To> to) {
  const float factor = kInverts ? __fdiv_rn(1.0F, *inverse_scale) : *inverse_scale;
  for_each_group<N, 4>(
      to.rows, to.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(from.at(r, c)); },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& group) {
        float scaled[n()];
        widen_group(group, scaled);
        for (int i = 0; i < n(); ++i) scaled[i] *= factor;
        Group<To, n()> result;
        narrow_group(scaled, result);
        store(to.at(r, c), result);
      });
}

template <class From, class To, bool kInverts>
void launch_convert(const Arguments& views, LaunchContext& context) {
  auto from = rows_of<const From>(views[0]);
  auto to = rows_of<To>(views[2]);
  flatten(from, to);
  const int group = group_for(kConverted, from, to);
  launch(group == 1 ? convert_kernel<From, To, 1, kInverts> : convert_kernel<From, To, kConverted, kInverts>,
         blocks_of_groups(to.rows, to.cols, group, 4), context.stream, from, views[1].as<const float>(), to);
}

void quantize_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class From>(From*) {
    with_fp8_type(views[2].dtype, [&]<class To>(To*) { launch_convert<From, To, true>(views, context); });
  });
}

void dequantize_cuda(const Arguments& views, LaunchContext& context) {
  with_fp8_type(views[0].dtype, [&]<class From>(From*) {
    with_float_type(views[2].dtype, [&]<class To>(To*) { launch_convert<From, To, false>(views, context); });
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_quantize() {
  static constexpr std::array<CudaImplementationInfo, 4> all{{
      {"amax", amax_cuda},
      {"fp8_scale", fp8_scale_cuda},
      {"quantize", quantize_cuda},
      {"dequantize", dequantize_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
