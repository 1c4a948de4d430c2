// SPDX-License-Identifier: Apache-2.0
//
// A row at a time, widened to fp32 once and then read from the cache: two or three passes over it touch memory once.
// Sums over a row go by 16 lanes (vector_math.hpp), so that they do not depend on the machine's vectors.
//
// With n = x * rstd and s = dout * weight, the gradient is rstd * (s - n * mean(n * s)): s without its part along n,
// since scaling x does not change the result. residual is what reaches x past the norm; adding it here saves a pass.
#include "kernels/rms_norm/rms_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

void forward_cpu(const Arguments& views) {
  const BoundView &x = views[0], &out = views[2];
  float* rstd = views[3].as<float>();
  const double epsilon = views.parameters<double>();
  const std::int64_t hidden = x.cols;
  Scratch scratch;
  float* const weight = scratch.take(hidden);
  float* const row = scratch.take(hidden);
  widen(views[1].as<bf16>(), weight, hidden);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    widen(x.row<bf16>(t), row, hidden);
    const double mean_square = static_cast<double>(dot(row, row, hidden)) / static_cast<double>(hidden);
    rstd[t] = static_cast<float>(1.0 / std::sqrt(mean_square + epsilon));
    bf16* const to = out.row<bf16>(t);
    for (std::int64_t h = 0; h < hidden; ++h) to[h] = bf16(row[h] * rstd[t] * weight[h]);
  }
}

void dgrad_cpu(const Arguments& views) {
  const BoundView &x = views[0], &dout = views[3], &residual = views[4], &dx = views[5];
  const float* rstd = views[2].as<float>();
  const std::int64_t hidden = x.cols;
  Scratch scratch;
  float* const weight = scratch.take(hidden);
  float* const row = scratch.take(hidden);
  float* const scaled = scratch.take(hidden);
  widen(views[1].as<bf16>(), weight, hidden);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    widen(x.row<bf16>(t), row, hidden, rstd[t]);
    widen(dout.row<bf16>(t), scaled, hidden);
    for (std::int64_t h = 0; h < hidden; ++h) scaled[h] *= weight[h];
    const float mean = dot(row, scaled, hidden) / static_cast<float>(hidden);
    const bf16* const past = residual.row<bf16>(t);
    bf16* const to = dx.row<bf16>(t);
    for (std::int64_t h = 0; h < hidden; ++h) {
      to[h] = bf16(static_cast<float>(past[h]) + rstd[t] * (scaled[h] - row[h] * mean));
    }
  }
}

// Rows are added one after the other into `total`, which stays in the cache: the sum is in token order.
void wgrad_cpu(const Arguments& views) {
  const BoundView &x = views[0], &dout = views[2], &dweight = views[3];
  const float* rstd = views[1].as<float>();
  const std::int64_t hidden = x.cols;
  Scratch scratch;
  float* const total = scratch.take(hidden);
  std::fill_n(total, hidden, 0.0F);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const bf16* const from = x.row<bf16>(t);
    const bf16* const gradient = dout.row<bf16>(t);
    const float factor = rstd[t];
    for (std::int64_t h = 0; h < hidden; ++h) {
      total[h] += static_cast<float>(gradient[h]) * (static_cast<float>(from[h]) * factor);
    }
  }
  with_float_type(dweight.dtype, [&]<class T>(T*) { add_to(dweight.as<T>(), total, hidden); });
}

}  // namespace

Operation rms_norm_forward(const View& x, const View& weight, const View& out, const View& rstd, double epsilon) {
  static const NameId name = intern("rms_norm_forward");
  require("rms_norm_forward", epsilon >= 0, "epsilon", epsilon, "at least 0");
  return make_operation(name, forward_cpu, norm_cost(4, x),
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::bf16}}},
                         {weight, Access::in, {"weight", 1, x.cols, {DataType::bf16}}},
                         {out, Access::out, {"out", x.rows, x.cols, {DataType::bf16}}},
                         {rstd, Access::out, {"rstd", 1, x.rows, {DataType::f32}}}})
      .with_parameters<double>(epsilon);
}

Operation rms_norm_dgrad(const RmsNormDgrad& t) {
  static const NameId name = intern("rms_norm_dgrad");
  return make_operation(name, dgrad_cpu, norm_cost(8, t.x),
                        {{t.x, Access::in, {"x", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.weight, Access::in, {"weight", 1, t.x.cols, {DataType::bf16}}},
                         {t.rstd, Access::in, {"rstd", 1, t.x.rows, {DataType::f32}}},
                         {t.dout, Access::in, {"dout", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.residual, Access::in, {"residual", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.dx, Access::out, {"dx", t.x.rows, t.x.cols, {DataType::bf16}}}});
}

Operation rms_norm_wgrad(const View& x, const View& rstd, const View& dout, const View& dweight) {
  static const NameId name = intern("rms_norm_wgrad");
  return make_operation(name, wgrad_cpu, norm_cost(3, x),
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::bf16}}},
                         {rstd, Access::in, {"rstd", 1, x.rows, {DataType::f32}}},
                         {dout, Access::in, {"dout", x.rows, x.cols, {DataType::bf16}}},
                         {dweight, Access::inout, {"dweight", 1, x.cols, {DataType::f32, DataType::bf16}}}});
}

std::span<const KernelInfo> list_rms_norm() {
  static constexpr std::array<KernelInfo, 3> kernels{{
      {"rms_norm", "rms_norm_forward", "out [T,H] = x * rstd * weight", "4 T H flops; 4 T H + 2 H + 4 T bytes"},
      {"rms_norm", "rms_norm_dgrad", "dx [T,H] = residual + gradient of the norm",
       "8 T H flops; 8 T H + 2 H + 4 T bytes"},
      {"rms_norm", "rms_norm_wgrad", "dweight [H] += sum of dout * x * rstd over tokens",
       "3 T H flops; 4 T H + 4 T bytes and dweight twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
