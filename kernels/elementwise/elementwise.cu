// SPDX-License-Identifier: Apache-2.0
//
// residual_add, accumulate, scale and fill: one pass each over matrices, computed in fp32 and rounded once.
//
//                  bytes an element        flops
//   residual_add   2 + 2 read, 2 written   1       two loads a group, two groups in flight
//   accumulate     2 + 2 read, 2 written   1       the same kernel: out is one of its inputs
//   scale          its own, twice          1       one load a group, four groups in flight
//   fill           its own, written        0       nothing to load, so nothing to have in flight
//
// Bound by memory. Dense matrices are flattened to one row first, so that no thread divides to find its row. Agrees
// with the CPU to the bit: each result is one operation, rounded once.
#include <array>
#include <utility>

#include "kernels/cuda/elements.cuh"
#include "kernels/fp8.hpp"

namespace underlap::cuda {
namespace {

template <int N>
__global__ void residual_add_kernel(Rows<bf16> a, Rows<bf16> b, Rows<bf16> out) {
  for_each_group<N, 2>(
      out.rows, out.cols,
      [&](auto n, std::int64_t r, std::int64_t c) { return std::pair(load<n()>(a.at(r, c)), load<n()>(b.at(r, c))); },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        Group<bf16, n()> sum;
        for (int i = 0; i < n(); ++i)
          sum.element[i] = narrowed<bf16>(static_cast<float>(loaded.first.element[i]) +
                                          static_cast<float>(loaded.second.element[i]));
        store(out.at(r, c), sum);
      });
}

template <class T, int N>
__global__ void scale_kernel(Rows<T> x, float factor) {
  for_each_group<N, 4>(
      x.rows, x.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(r, c)); },
      [&](auto n, std::int64_t r, std::int64_t c, auto group) {
        for (int i = 0; i < n(); ++i) group.element[i] = narrowed<T>(static_cast<float>(group.element[i]) * factor);
        store(x.at(r, c), group);
      });
}

template <class T, int N>
__global__ void fill_kernel(Rows<T> x, T value) {
  for_each_group<N, 1>(
      x.rows, x.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t r, std::int64_t c, int) {
        Group<T, n()> group;
        for (int i = 0; i < n(); ++i) group.element[i] = value;
        store(x.at(r, c), group);
      });
}

void residual_add_cuda(const Arguments& views, LaunchContext& context) {
  auto a = rows_of<bf16>(views[0]), b = rows_of<bf16>(views[1]), out = rows_of<bf16>(views[2]);
  flatten(a, b, out);
  const int group = group_for(8, a, b, out);
  launch(group == 1 ? residual_add_kernel<1> : residual_add_kernel<8>, blocks_of_groups(out.rows, out.cols, group, 2),
         context.stream, a, b, out);
}

// residual_add with `sum` as an input and as the output: each group of it is loaded and stored by one thread, in this
// order, and touched by no other.
void accumulate_cuda(const Arguments& views, LaunchContext& context) {
  auto x = rows_of<bf16>(views[0]), sum = rows_of<bf16>(views[1]);
  flatten(x, sum);
  const int group = group_for(8, x, sum);
  launch(group == 1 ? residual_add_kernel<1> : residual_add_kernel<8>, blocks_of_groups(x.rows, x.cols, group, 2),
         context.stream, x, sum, sum);
}

void scale_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class T>(T*) {
    constexpr int kWide = 16 / sizeof(T);
    Rows<T> x = rows_of<T>(views[0]);
    flatten(x);
    const int group = group_for(kWide, x);
    launch(group == 1 ? scale_kernel<T, 1> : scale_kernel<T, kWide>, blocks_of_groups(x.rows, x.cols, group, 4),
           context.stream, x, static_cast<float>(views.parameters<double>()));
  });
}

template <class T>
void launch_fill(const BoundView& view, T value, LaunchContext& context) {
  constexpr int kWide = 16 / sizeof(T);
  Rows<T> x = rows_of<T>(view);
  flatten(x);
  const int group = group_for(kWide, x);
  launch(group == 1 ? fill_kernel<T, 1> : fill_kernel<T, kWide>, blocks_of_groups(x.rows, x.cols, group, 1),
         context.stream, x, value);
}

void fill_cuda(const Arguments& views, LaunchContext& context) {
  const double value = views.parameters<double>();
  switch (views[0].dtype) {
    case DataType::f32: return launch_fill(views[0], static_cast<float>(value), context);
    case DataType::bf16: return launch_fill(views[0], bf16(static_cast<float>(value)), context);
    case DataType::i32: return launch_fill(views[0], static_cast<std::int32_t>(value), context);
    case DataType::u8: return launch_fill(views[0], static_cast<std::uint8_t>(value), context);
    case DataType::f64: return launch_fill(views[0], value, context);
    case DataType::f8e4m3: return launch_fill(views[0], f8e4m3(static_cast<float>(value)), context);
    case DataType::f8e5m2: return launch_fill(views[0], f8e5m2(static_cast<float>(value)), context);
  }
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_elementwise() {
  static constexpr std::array<CudaImplementationInfo, 4> all{{
      {"residual_add", residual_add_cuda},
      {"accumulate", accumulate_cuda},
      {"scale", scale_cuda},
      {"fill", fill_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
