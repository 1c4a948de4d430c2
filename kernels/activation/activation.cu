// SPDX-License-Identifier: Apache-2.0
//
// SwiGLU, GELU (tanh form) and squared ReLU, forward and backward: computed in fp32, rounded once.
//
// Each reads and writes every byte once. SwiGLU's gate and up are the halves of one row of x, and their gradients those
// of a row of dx, so its loop runs over columns of half a row and each thread takes the same columns of both halves:
//
//   x, dx   | gate: c | up: F + c |        out, dout  | c |
//
//   bytes and flops an element of out   SwiGLU   GELU    squared ReLU
//   forward                              6,  5   4,  9   4, 2
//   backward                            10, 11   6, 18   6, 3
//
// Bound by memory, as long as exp and the division are the fast ones (math.cuh): what they lose is a hundredth of what
// rounding to bf16 does. A bias is added to x on its way, from a cache. Kernels that load one group of 8 columns have
// four in flight, those that load two or three have two: about 64 to 96 bytes a thread.
#include <array>
#include <utility>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/math.cuh"

namespace underlap::cuda {
namespace {

// An activation is a class with value(x) and derivative(x), and map_kernel and map_gradient_kernel are compiled for
// each.
struct Gelu {
  static constexpr float kTwoRootTwoOverPi = 1.59576912F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;

  /// (1 + tanh(u)) / 2 is sigmoid(2 u): one exponential instead of a tanh.
  static __device__ float gate(float x) { return sigmoid_fast(kTwoRootTwoOverPi * (x + kCubic * x * x * x)); }
  static __device__ float value(float x) { return x * gate(x); }
  static __device__ float derivative(float x) {
    const float s = gate(x);
    return s + x * s * (1.0F - s) * kTwoRootTwoOverPi * (1.0F + 3.0F * kCubic * x * x);
  }
};

struct SquaredRelu {
  // A comparison that keeps NaN.
  static __device__ float value(float x) { return (x < 0.0F ? 0.0F : x) * x; }
  static __device__ float derivative(float x) { return 2.0F * (x < 0.0F ? 0.0F : x); }
};

/// N columns of a row from c, with their bias where there is one.
template <int N>
__device__ Group<float, N> with_bias(const Group<bf16, N>& x, const bf16* bias, std::int64_t c) {
  Group<float, N> sum;
  for (int i = 0; i < N; ++i) sum.element[i] = static_cast<float>(x.element[i]);
  if (bias == nullptr) return sum;
  const auto of_column = load<N>(bias + c);
  for (int i = 0; i < N; ++i) sum.element[i] += static_cast<float>(of_column.element[i]);
  return sum;
}

/// out = f(x).
template <class F, int N>
__global__ void map_kernel(Rows<const bf16> x, Rows<bf16> out, const bf16* bias) {
  for_each_group<N, 4>(
      out.rows, out.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(r, c)); },
      [&](auto n, std::int64_t r, std::int64_t c, auto group) {
        const auto of_x = with_bias(group, bias, c);
        for (int i = 0; i < n(); ++i) group.element[i] = narrowed<bf16>(F::value(of_x.element[i]));
        store(out.at(r, c), group);
      });
}

/// dx = dout * f'(x).
template <class F, int N>
__global__ void map_gradient_kernel(Rows<const bf16> x, Rows<const bf16> dout, Rows<bf16> dx, const bf16* bias) {
  for_each_group<N, 2>(
      dx.rows, dx.cols,
      [&](auto n, std::int64_t r, std::int64_t c) {
        return std::pair(load<n()>(x.at(r, c)), load<n()>(dout.at(r, c)));
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        const auto of_x = with_bias(loaded.first, bias, c);
        Group<bf16, n()> result;
        for (int i = 0; i < n(); ++i)
          result.element[i] =
              narrowed<bf16>(static_cast<float>(loaded.second.element[i]) * F::derivative(of_x.element[i]));
        store(dx.at(r, c), result);
      });
}

/// The bias after the first `num` views; nullptr: no bias. `as`: how its columns can then be loaded.
struct BiasView {
  const bf16* data = nullptr;
  Rows<const bf16> as;

  BiasView(const Arguments& views, std::size_t num, const Rows<const bf16>& otherwise) : as(otherwise) {
    if (views.size() <= num) return;
    as = rows_of<const bf16>(views[num]);
    data = as.data;
  }
};

template <class F>
void map_cuda(const Arguments& views, LaunchContext& context) {
  auto x = rows_of<const bf16>(views[0]);
  auto out = rows_of<bf16>(views[1]);
  const BiasView bias(views, 2, x);
  if (bias.data == nullptr) flatten(x, out);
  const int group = group_for(8, x, out, bias.as);
  launch(group == 1 ? map_kernel<F, 1> : map_kernel<F, 8>, blocks_of_groups(out.rows, out.cols, group, 4),
         context.stream, x, out, bias.data);
}

template <class F>
void map_gradient_cuda(const Arguments& views, LaunchContext& context) {
  auto x = rows_of<const bf16>(views[0]), dout = rows_of<const bf16>(views[1]);
  auto dx = rows_of<bf16>(views[2]);
  const BiasView bias(views, 3, x);
  if (bias.data == nullptr) flatten(x, dout, dx);
  const int group = group_for(8, x, dout, dx, bias.as);
  launch(group == 1 ? map_gradient_kernel<F, 1> : map_gradient_kernel<F, 8>,
         blocks_of_groups(dx.rows, dx.cols, group, 2), context.stream, x, dout, dx, bias.data);
}

/// The left half of a matrix, or the right one. A half is strided, so these matrices are never flattened.
template <class T>
Rows<T> half_of(const BoundView& view, int which) {
  Rows<T> half = rows_of<T>(view);
  half.cols /= 2;
  half.data += which * half.cols;
  return half;
}

/// `group`, or 1 where the second half of a bias does not begin where a group may.
int half_bias_group(const BiasView& bias, std::int64_t cols, int group) {
  return bias.data != nullptr && cols % 8 != 0 ? 1 : group;
}

/// out = silu(gate) * up, with silu(z) = z * sigmoid(z). A bias of both halves begins with that of gate.
template <int N>
__global__ void swiglu_forward_kernel(Rows<const bf16> gate, Rows<const bf16> up, Rows<bf16> out, const bf16* bias) {
  for_each_group<N, 2>(
      out.rows, out.cols,
      [&](auto n, std::int64_t r, std::int64_t c) {
        return std::pair(load<n()>(gate.at(r, c)), load<n()>(up.at(r, c)));
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        const auto of_gate = with_bias(loaded.first, bias, c), of_up = with_bias(loaded.second, bias, out.cols + c);
        Group<bf16, n()> result;
        for (int i = 0; i < n(); ++i) {
          const float z = of_gate.element[i];
          result.element[i] = narrowed<bf16>(z * sigmoid_fast(z) * of_up.element[i]);
        }
        store(out.at(r, c), result);
      });
}

void swiglu_forward_cuda(const Arguments& views, LaunchContext& context) {
  const auto gate = half_of<const bf16>(views[0], 0), up = half_of<const bf16>(views[0], 1);
  const auto out = rows_of<bf16>(views[1]);
  const BiasView bias(views, 2, gate);
  const int group = half_bias_group(bias, out.cols, group_for(8, gate, up, out, bias.as));
  launch(group == 1 ? swiglu_forward_kernel<1> : swiglu_forward_kernel<8>,
         blocks_of_groups(out.rows, out.cols, group, 2), context.stream, gate, up, out, bias.data);
}

/// The tensors of swiglu's backward pass, cut into halves.
struct SwigluGradient {
  Rows<const bf16> gate, up, dout;
  Rows<bf16> dgate, dup;
  const bf16* bias;  ///< of gate, then of up; nullptr: no bias
};

template <int N>
struct SwigluLoaded {
  Group<bf16, N> gate, up, dout;
};

/// With s = sigmoid(gate): dup = dout * gate * s, dgate = dout * up * silu'(gate), and silu'(z) = s (1 + z (1 - s)).
template <int N>
__global__ void swiglu_backward_kernel(SwigluGradient t) {
  for_each_group<N, 2>(
      t.dout.rows, t.dout.cols,
      [&](auto n, std::int64_t r, std::int64_t c) {
        return SwigluLoaded<n()>{load<n()>(t.gate.at(r, c)), load<n()>(t.up.at(r, c)), load<n()>(t.dout.at(r, c))};
      },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& loaded) {
        const auto of_gate = with_bias(loaded.gate, t.bias, c), of_up = with_bias(loaded.up, t.bias, t.dout.cols + c);
        Group<bf16, n()> dgate, dup;
        for (int i = 0; i < n(); ++i) {
          const float z = of_gate.element[i], up = of_up.element[i];
          const auto d = static_cast<float>(loaded.dout.element[i]);
          const float s = sigmoid_fast(z);
          dgate.element[i] = narrowed<bf16>(d * up * s * (1.0F + z * (1.0F - s)));
          dup.element[i] = narrowed<bf16>(d * z * s);
        }
        store(t.dgate.at(r, c), dgate);
        store(t.dup.at(r, c), dup);
      });
}

void swiglu_backward_cuda(const Arguments& views, LaunchContext& context) {
  const BiasView bias(views, 3, half_of<const bf16>(views[0], 0));
  const SwigluGradient t{.gate = half_of<const bf16>(views[0], 0),
                         .up = half_of<const bf16>(views[0], 1),
                         .dout = rows_of<const bf16>(views[1]),
                         .dgate = half_of<bf16>(views[2], 0),
                         .dup = half_of<bf16>(views[2], 1),
                         .bias = bias.data};
  const int group = half_bias_group(bias, t.dout.cols, group_for(8, t.gate, t.up, t.dout, t.dgate, t.dup, bias.as));
  launch(group == 1 ? swiglu_backward_kernel<1> : swiglu_backward_kernel<8>,
         blocks_of_groups(t.dout.rows, t.dout.cols, group, 2), context.stream, t);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_activation() {
  static constexpr std::array<CudaImplementationInfo, 6> all{{
      {"swiglu_forward", swiglu_forward_cuda},
      {"swiglu_backward", swiglu_backward_cuda},
      {"gelu_forward", map_cuda<Gelu>},
      {"gelu_backward", map_gradient_cuda<Gelu>},
      {"squared_relu_forward", map_cuda<SquaredRelu>},
      {"squared_relu_backward", map_gradient_cuda<SquaredRelu>},
  }};
  return all;
}

}  // namespace underlap::cuda
