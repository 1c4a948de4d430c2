// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation.hpp"

#include <array>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

/// out[i] = f(x[i]) over all rows.
template <class F>
void map(const BoundView& x, const BoundView& out, F f) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const bf16* const from = x.row<bf16>(t);
    bf16* const to = out.row<bf16>(t);
    for (std::int64_t i = 0; i < x.cols; ++i) to[i] = bf16(f(static_cast<float>(from[i])));
  }
}

/// dx[i] = dout[i] * derivative(x[i]) over all rows.
template <class F>
void map_gradient(const Arguments& views, F derivative) {
  const BoundView &x = views[0], &dout = views[1], &dx = views[2];
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const bf16* const from = x.row<bf16>(t);
    const bf16* const gradient = dout.row<bf16>(t);
    bf16* const to = dx.row<bf16>(t);
    for (std::int64_t i = 0; i < x.cols; ++i) {
      to[i] = bf16(static_cast<float>(gradient[i]) * derivative(static_cast<float>(from[i])));
    }
  }
}

void swiglu_forward_cpu(const Arguments& views) {
  const BoundView &x = views[0], &out = views[1];
  for (std::int64_t t = 0; t < out.rows; ++t) {
    const bf16* const gate = x.row<bf16>(t);
    const bf16* const up = gate + out.cols;
    bf16* const to = out.row<bf16>(t);
    for (std::int64_t i = 0; i < out.cols; ++i) {
      const auto z = static_cast<float>(gate[i]);
      to[i] = bf16(z * sigmoid(z) * static_cast<float>(up[i]));
    }
  }
}

void swiglu_backward_cpu(const Arguments& views) {
  const BoundView &x = views[0], &dout = views[1], &dx = views[2];
  const std::int64_t width = dout.cols;
  for (std::int64_t t = 0; t < dout.rows; ++t) {
    const bf16* const gate = x.row<bf16>(t);
    const bf16* const gradient = dout.row<bf16>(t);
    bf16* const to = dx.row<bf16>(t);
    for (std::int64_t i = 0; i < width; ++i) {
      const auto z = static_cast<float>(gate[i]);
      const auto up = static_cast<float>(gate[width + i]);
      const auto d = static_cast<float>(gradient[i]);
      const float s = sigmoid(z);
      // silu'(z) = s + z s (1 - s)
      to[i] = bf16(d * up * s * (1.0F + z * (1.0F - s)));
      to[width + i] = bf16(d * z * s);
    }
  }
}

// gelu(x) = x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), and so x * gelu_gate(x).
constexpr float kTwoRootTwoOverPi = 1.59576912F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

/// (1 + tanh(u)) / 2 is sigmoid(2 u): one exponential instead of a tanh.
float gelu_gate(float x) { return sigmoid(kTwoRootTwoOverPi * (x + kCubic * x * x * x)); }

void gelu_forward_cpu(const Arguments& views) {
  map(views[0], views[1], [](float x) { return x * gelu_gate(x); });
}

void gelu_backward_cpu(const Arguments& views) {
  map_gradient(views, [](float x) {
    const float s = gelu_gate(x);
    return s + x * s * (1.0F - s) * kTwoRootTwoOverPi * (1.0F + 3.0F * kCubic * x * x);
  });
}

void squared_relu_forward_cpu(const Arguments& views) {
  // A comparison that keeps NaN.
  map(views[0], views[1], [](float x) { return (x < 0.0F ? 0.0F : x) * x; });
}

void squared_relu_backward_cpu(const Arguments& views) {
  map_gradient(views, [](float x) { return 2.0F * (x < 0.0F ? 0.0F : x); });
}

/// An activation whose input has `width` columns for each of its output.
struct Kind {
  const char* name;
  CpuImplementation cpu;
  std::int64_t width;
  double flops;  ///< per element of out; an exponential counts as one
};

Operation forward(const Kind& kind, NameId name, const View& x, const View& out) {
  require(kind.name, out, {"out", out.rows, out.cols, {DataType::bf16}});
  require(kind.name, x, {"x", out.rows, out.cols * kind.width, {DataType::bf16}});
  return Operation(name, kind.cpu,
                   {.flops = kind.flops * static_cast<double>(out.elements()),
                    .bytes_read = x.bytes(),
                    .bytes_written = out.bytes()},
                   {{x, Access::in}, {out, Access::out}});
}

Operation backward(const Kind& kind, NameId name, const View& x, const View& dout, const View& dx) {
  require(kind.name, dout, {"dout", dout.rows, dout.cols, {DataType::bf16}});
  require(kind.name, x, {"x", dout.rows, dout.cols * kind.width, {DataType::bf16}});
  require(kind.name, dx, {"dx", dout.rows, dout.cols * kind.width, {DataType::bf16}});
  return Operation(name, kind.cpu,
                   {.flops = kind.flops * static_cast<double>(dout.elements()),
                    .bytes_read = x.bytes() + dout.bytes(),
                    .bytes_written = dx.bytes()},
                   {{x, Access::in}, {dout, Access::in}, {dx, Access::out}});
}

}  // namespace

Operation swiglu_forward(const View& x, const View& out) {
  static const NameId name = intern("swiglu_forward");
  return forward({"swiglu_forward", swiglu_forward_cpu, 2, 5}, name, x, out);
}

Operation swiglu_backward(const View& x, const View& dout, const View& dx) {
  static const NameId name = intern("swiglu_backward");
  return backward({"swiglu_backward", swiglu_backward_cpu, 2, 11}, name, x, dout, dx);
}

Operation gelu_forward(const View& x, const View& out) {
  static const NameId name = intern("gelu_forward");
  return forward({"gelu_forward", gelu_forward_cpu, 1, 9}, name, x, out);
}

Operation gelu_backward(const View& x, const View& dout, const View& dx) {
  static const NameId name = intern("gelu_backward");
  return backward({"gelu_backward", gelu_backward_cpu, 1, 18}, name, x, dout, dx);
}

Operation squared_relu_forward(const View& x, const View& out) {
  static const NameId name = intern("squared_relu_forward");
  return forward({"squared_relu_forward", squared_relu_forward_cpu, 1, 2}, name, x, out);
}

Operation squared_relu_backward(const View& x, const View& dout, const View& dx) {
  static const NameId name = intern("squared_relu_backward");
  return backward({"squared_relu_backward", squared_relu_backward_cpu, 1, 3}, name, x, dout, dx);
}

std::span<const KernelInfo> list_activation() {
  static constexpr std::array<KernelInfo, 6> kernels{{
      {"activation", "swiglu_forward", "out [T,F] = silu(gate) * up, x [T,2F] = gate|up", "5 T F flops; 6 T F bytes"},
      {"activation", "swiglu_backward", "dx [T,2F] from x and dout [T,F]", "11 T F flops; 10 T F bytes"},
      {"activation", "gelu_forward", "out [T,F] = gelu(x), tanh form", "9 T F flops; 4 T F bytes"},
      {"activation", "gelu_backward", "dx [T,F] = dout * gelu'(x), tanh form", "18 T F flops; 6 T F bytes"},
      {"activation", "squared_relu_forward", "out [T,F] = max(x, 0)^2", "2 T F flops; 4 T F bytes"},
      {"activation", "squared_relu_backward", "dx [T,F] = 2 dout * max(x, 0)", "3 T F flops; 6 T F bytes"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
