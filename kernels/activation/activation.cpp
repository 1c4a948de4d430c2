// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation.hpp"

#include <array>

#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

/// Rows of x, or of x + bias where views[bias_at] is a bias.
class Inputs {
 public:
  Inputs(const Arguments& views, std::size_t bias_at) : x_(views[0]) {
    if (views.size() <= bias_at) return;
    bias_ = scratch_.take(x_.cols);
    row_ = scratch_.take(x_.cols);
    widen(views[bias_at].as<bf16>(), bias_, x_.cols);
  }

  /// f(x) with x(i) the element in column i of row t.
  template <class F>
  void with_row(std::int64_t t, F f) const {
    const bf16* const from = x_.row<bf16>(t);
    if (bias_ == nullptr) return f([from](std::int64_t i) { return static_cast<float>(from[i]); });
    for (std::int64_t i = 0; i < x_.cols; ++i) row_[i] = static_cast<float>(from[i]) + bias_[i];
    f([row = row_](std::int64_t i) { return row[i]; });
  }

 private:
  const BoundView& x_;
  Scratch scratch_;
  float *bias_ = nullptr, *row_ = nullptr;
};

/// out[i] = f(x[i]) over all rows.
template <class F>
void map(const Arguments& views, F f) {
  const BoundView& out = views[1];
  const Inputs inputs(views, 2);
  for (std::int64_t t = 0; t < out.rows; ++t)
    inputs.with_row(t, [&](auto x) {
      bf16* const to = out.row<bf16>(t);
      for (std::int64_t i = 0; i < out.cols; ++i) to[i] = bf16(f(x(i)));
    });
}

/// dx[i] = dout[i] * derivative(x[i]) over all rows.
template <class F>
void map_gradient(const Arguments& views, F derivative) {
  const BoundView &dout = views[1], &dx = views[2];
  const Inputs inputs(views, 3);
  for (std::int64_t t = 0; t < dx.rows; ++t)
    inputs.with_row(t, [&](auto x) {
      const bf16* const gradient = dout.row<bf16>(t);
      bf16* const to = dx.row<bf16>(t);
      for (std::int64_t i = 0; i < dx.cols; ++i) to[i] = bf16(static_cast<float>(gradient[i]) * derivative(x(i)));
    });
}

void swiglu_forward_cpu(const Arguments& views) {
  const BoundView& out = views[1];
  const Inputs inputs(views, 2);
  for (std::int64_t t = 0; t < out.rows; ++t)
    inputs.with_row(t, [&](auto x) {
      bf16* const to = out.row<bf16>(t);
      for (std::int64_t i = 0; i < out.cols; ++i) {
        const float z = x(i);
        to[i] = bf16(z * sigmoid(z) * x(out.cols + i));
      }
    });
}

void swiglu_backward_cpu(const Arguments& views) {
  const BoundView &dout = views[1], &dx = views[2];
  const std::int64_t width = dout.cols;
  const Inputs inputs(views, 3);
  for (std::int64_t t = 0; t < dout.rows; ++t)
    inputs.with_row(t, [&](auto x) {
      const bf16* const gradient = dout.row<bf16>(t);
      bf16* const to = dx.row<bf16>(t);
      for (std::int64_t i = 0; i < width; ++i) {
        const float z = x(i), up = x(width + i);
        const auto d = static_cast<float>(gradient[i]);
        const float s = sigmoid(z);
        // silu'(z) = s + z s (1 - s)
        to[i] = bf16(d * up * s * (1.0F + z * (1.0F - s)));
        to[width + i] = bf16(d * z * s);
      }
    });
}

// gelu(x) = x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), and so x * gelu_gate(x).
constexpr float kTwoRootTwoOverPi = 1.59576912F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

/// (1 + tanh(u)) / 2 is sigmoid(2 u): one exponential instead of a tanh.
float gelu_gate(float x) { return sigmoid(kTwoRootTwoOverPi * (x + kCubic * x * x * x)); }

void gelu_forward_cpu(const Arguments& views) {
  map(views, [](float x) { return x * gelu_gate(x); });
}

void gelu_backward_cpu(const Arguments& views) {
  map_gradient(views, [](float x) {
    const float s = gelu_gate(x);
    return s + x * s * (1.0F - s) * kTwoRootTwoOverPi * (1.0F + 3.0F * kCubic * x * x);
  });
}

void squared_relu_forward_cpu(const Arguments& views) {
  // A comparison that keeps NaN.
  map(views, [](float x) { return (x < 0.0F ? 0.0F : x) * x; });
}

void squared_relu_backward_cpu(const Arguments& views) {
  map_gradient(views, [](float x) { return 2.0F * (x < 0.0F ? 0.0F : x); });
}

/// An activation whose input has `width` columns for each of its output.
struct Kind {
  CpuImplementation cpu;
  std::int64_t width;
  double flops;  ///< per element of out; an exponential counts as one
};

/// Adding a bias is one more operation for each element of x.
Cost cost_of(double flops, const View& x, const View& bias) {
  return {.flops = flops + (bias.tensor.id == 0 ? 0 : static_cast<double>(x.elements()))};
}

Operation forward(const Kind& kind, NameId name, const View& x, const View& out, const View& bias) {
  return make_operation(name, kind.cpu, cost_of(kind.flops * static_cast<double>(out.elements()), x, bias),
                        {{x, Access::in, {"x", out.rows, out.cols * kind.width, {DataType::bf16}}},
                         {out, Access::out, {"out", out.rows, out.cols, {DataType::bf16}}},
                         {bias, Access::in, {"bias", 1, x.cols, {DataType::bf16}}, true}});
}

Operation backward(const Kind& kind, NameId name, const View& x, const View& dout, const View& dx, const View& bias) {
  return make_operation(name, kind.cpu, cost_of(kind.flops * static_cast<double>(dout.elements()), x, bias),
                        {{x, Access::in, {"x", dout.rows, dout.cols * kind.width, {DataType::bf16}}},
                         {dout, Access::in, {"dout", dout.rows, dout.cols, {DataType::bf16}}},
                         {dx, Access::out, {"dx", dout.rows, dout.cols * kind.width, {DataType::bf16}}},
                         {bias, Access::in, {"bias", 1, x.cols, {DataType::bf16}}, true}});
}

}  // namespace

Operation swiglu_forward(const View& x, const View& out, const View& bias) {
  static const NameId name = intern("swiglu_forward");
  return forward({swiglu_forward_cpu, 2, 5}, name, x, out, bias);
}

Operation swiglu_backward(const View& x, const View& dout, const View& dx, const View& bias) {
  static const NameId name = intern("swiglu_backward");
  return backward({swiglu_backward_cpu, 2, 11}, name, x, dout, dx, bias);
}

Operation gelu_forward(const View& x, const View& out, const View& bias) {
  static const NameId name = intern("gelu_forward");
  return forward({gelu_forward_cpu, 1, 9}, name, x, out, bias);
}

Operation gelu_backward(const View& x, const View& dout, const View& dx, const View& bias) {
  static const NameId name = intern("gelu_backward");
  return backward({gelu_backward_cpu, 1, 18}, name, x, dout, dx, bias);
}

Operation squared_relu_forward(const View& x, const View& out, const View& bias) {
  static const NameId name = intern("squared_relu_forward");
  return forward({squared_relu_forward_cpu, 1, 2}, name, x, out, bias);
}

Operation squared_relu_backward(const View& x, const View& dout, const View& dx, const View& bias) {
  static const NameId name = intern("squared_relu_backward");
  return backward({squared_relu_backward_cpu, 1, 3}, name, x, dout, dx, bias);
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
