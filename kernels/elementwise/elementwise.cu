// SPDX-License-Identifier: Apache-2.0
// Element by element: each thread takes 16 bytes of every operand, or one element where a view is not aligned.
#include <algorithm>
#include <array>

#include "kernels/cuda/elements.cuh"
#include "kernels/elementwise/elementwise_parameters.hpp"

namespace underlap::cuda {
namespace {

using kernels::ElementwiseParameters;

constexpr unsigned kThreads = 256;

/// Calls `body(row, column)` for every group of N elements of a [rows, cols] matrix, each on one thread of the grid.
template <int N, class Body>
__device__ void for_each_group(std::int64_t rows, std::int64_t cols, Body body) {
  const std::int64_t groups_in_row = cols / N;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * groups_in_row;
       i += stride)
    body(i / groups_in_row, i % groups_in_row * N);
}

template <int N>
__global__ void residual_add_kernel(Rows<bf16> a, Rows<bf16> b, Rows<bf16> out) {
  using Wide = Group<bf16, N>;
  for_each_group<N>(out.rows, out.cols, [&](std::int64_t r, std::int64_t c) {
    const Wide left = *reinterpret_cast<const Wide*>(a.at(r, c));
    const Wide right = *reinterpret_cast<const Wide*>(b.at(r, c));
    Wide sum;
    for (int i = 0; i < N; ++i)
      sum.element[i] = bf16(static_cast<float>(left.element[i]) + static_cast<float>(right.element[i]));
    *reinterpret_cast<Wide*>(out.at(r, c)) = sum;
  });
}

template <class T, int N>
__global__ void scale_kernel(Rows<T> x, float factor) {
  using Wide = Group<T, N>;
  for_each_group<N>(x.rows, x.cols, [&](std::int64_t r, std::int64_t c) {
    auto* const at = reinterpret_cast<Wide*>(x.at(r, c));
    Wide group = *at;
    for (int i = 0; i < N; ++i) group.element[i] = static_cast<T>(static_cast<float>(group.element[i]) * factor);
    *at = group;
  });
}

template <class T, int N>
__global__ void fill_kernel(Rows<T> x, T value) {
  using Wide = Group<T, N>;
  Wide group;
  for (int i = 0; i < N; ++i) group.element[i] = value;
  for_each_group<N>(x.rows, x.cols,
                    [&](std::int64_t r, std::int64_t c) { *reinterpret_cast<Wide*>(x.at(r, c)) = group; });
}

unsigned blocks_of(const BoundView& view, int group) { return blocks_for(view.rows * view.cols / group, kThreads); }

void residual_add_form(const Arguments& views, LaunchContext& context) {
  const int group = std::min({group_elements(views[0]), group_elements(views[1]), group_elements(views[2])});
  launch(group == 1 ? residual_add_kernel<1> : residual_add_kernel<8>,
         {.blocks = blocks_of(views[2], group), .threads = kThreads}, context.stream, rows_of<bf16>(views[0]),
         rows_of<bf16>(views[1]), rows_of<bf16>(views[2]));
}

template <class T>
void launch_scale(const BoundView& x, float factor, LaunchContext& context) {
  const int group = group_elements(x);
  launch(group == 1 ? scale_kernel<T, 1> : scale_kernel<T, 16 / sizeof(T)>,
         {.blocks = blocks_of(x, group), .threads = kThreads}, context.stream, rows_of<T>(x), factor);
}

void scale_form(const Arguments& views, LaunchContext& context) {
  const auto factor = static_cast<float>(views.parameters<ElementwiseParameters>().value);
  if (views[0].dtype == DataType::f32) return launch_scale<float>(views[0], factor, context);
  launch_scale<bf16>(views[0], factor, context);
}

template <class T>
void launch_fill(const BoundView& x, T value, LaunchContext& context) {
  const int group = group_elements(x);
  launch(group == 1 ? fill_kernel<T, 1> : fill_kernel<T, 16 / sizeof(T)>,
         {.blocks = blocks_of(x, group), .threads = kThreads}, context.stream, rows_of<T>(x), value);
}

void fill_form(const Arguments& views, LaunchContext& context) {
  const double value = views.parameters<ElementwiseParameters>().value;
  switch (views[0].dtype) {
    case DataType::f32: return launch_fill(views[0], static_cast<float>(value), context);
    case DataType::bf16: return launch_fill(views[0], bf16(static_cast<float>(value)), context);
    case DataType::i32: return launch_fill(views[0], static_cast<std::int32_t>(value), context);
    case DataType::u8: return launch_fill(views[0], static_cast<std::uint8_t>(value), context);
    case DataType::f64: return launch_fill(views[0], value, context);
  }
}

}  // namespace

std::span<const CudaFormInfo> cuda_forms_elementwise() {
  static constexpr std::array<CudaFormInfo, 3> forms{{
      {"residual_add", residual_add_form},
      {"scale", scale_form},
      {"fill", fill_form},
  }};
  return forms;
}

}  // namespace underlap::cuda
