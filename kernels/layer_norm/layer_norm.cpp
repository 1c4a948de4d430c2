// SPDX-License-Identifier: Apache-2.0
//
// A row at a time, widened to fp32 once and then read from the cache: the passes over it touch memory once. Sums over a
// row go by 16 lanes (vector_math.hpp), so that they do not depend on the machine's vectors.
//
// With n = (x - mean) * rstd and s = dout * weight, the gradient is rstd * (s - mean(s) - n * mean(n * s)): s without
// its parts along a constant and along n, since neither shifting nor scaling x changes the result. residual is what
// reaches x past the norm; adding it here saves a pass.
#include "kernels/layer_norm/layer_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

/// One times each element of a row: with dot() its sum.
float* take_ones(Scratch& scratch, std::int64_t count) {
  float* const ones = scratch.take(count);
  std::fill_n(ones, count, 1.0F);
  return ones;
}

/// row = (row - mean) * rstd.
void normalize(float* row, std::int64_t count, float mean, float rstd) {
  for (std::int64_t h = 0; h < count; ++h) row[h] = (row[h] - mean) * rstd;
}

void forward_cpu(const Arguments& views) {
  const BoundView &x = views[0], &out = views[3];
  float *const mean = views[4].as<float>(), *const rstd = views[5].as<float>();
  const double epsilon = views.parameters<double>();
  const std::int64_t hidden = x.cols;
  Scratch scratch;
  float* const weight = scratch.take(hidden);
  float* const bias = scratch.take(hidden);
  float* const row = scratch.take(hidden);
  const float* const ones = take_ones(scratch, hidden);
  widen(views[1].as<bf16>(), weight, hidden);
  widen(views[2].as<bf16>(), bias, hidden);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    widen(x.row<bf16>(t), row, hidden);
    mean[t] = dot(row, ones, hidden) / static_cast<float>(hidden);
    normalize(row, hidden, mean[t], 1);
    const double variance = static_cast<double>(dot(row, row, hidden)) / static_cast<double>(hidden);
    rstd[t] = static_cast<float>(1.0 / std::sqrt(variance + epsilon));
    bf16* const to = out.row<bf16>(t);
    for (std::int64_t h = 0; h < hidden; ++h) to[h] = bf16(row[h] * rstd[t] * weight[h] + bias[h]);
  }
}

void dgrad_cpu(const Arguments& views) {
  const BoundView &x = views[0], &dout = views[4], &residual = views[5], &dx = views[6];
  const float *const mean = views[2].as<float>(), *const rstd = views[3].as<float>();
  const std::int64_t hidden = x.cols;
  Scratch scratch;
  float* const weight = scratch.take(hidden);
  float* const row = scratch.take(hidden);
  float* const scaled = scratch.take(hidden);
  const float* const ones = take_ones(scratch, hidden);
  widen(views[1].as<bf16>(), weight, hidden);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    widen(x.row<bf16>(t), row, hidden);
    normalize(row, hidden, mean[t], rstd[t]);
    widen(dout.row<bf16>(t), scaled, hidden);
    for (std::int64_t h = 0; h < hidden; ++h) scaled[h] *= weight[h];
    const float along = dot(row, scaled, hidden) / static_cast<float>(hidden);
    const float constant = dot(scaled, ones, hidden) / static_cast<float>(hidden);
    const bf16* const past = residual.row<bf16>(t);
    bf16* const to = dx.row<bf16>(t);
    for (std::int64_t h = 0; h < hidden; ++h)
      to[h] = bf16(static_cast<float>(past[h]) + rstd[t] * (scaled[h] - constant - row[h] * along));
  }
}

// Rows are added one after the other into totals, which stay in the cache: the sums are in token order.
void wgrad_cpu(const Arguments& views) {
  const BoundView &x = views[0], &dout = views[3], &dweight = views[4], &dbias = views[5];
  const float *const mean = views[1].as<float>(), *const rstd = views[2].as<float>();
  const std::int64_t hidden = x.cols;
  Scratch scratch;
  float* const of_weight = scratch.take(hidden);
  float* const of_bias = scratch.take(hidden);
  std::fill_n(of_weight, hidden, 0.0F);
  std::fill_n(of_bias, hidden, 0.0F);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const bf16* const from = x.row<bf16>(t);
    const bf16* const gradient = dout.row<bf16>(t);
    for (std::int64_t h = 0; h < hidden; ++h) {
      const auto d = static_cast<float>(gradient[h]);
      of_weight[h] += d * ((static_cast<float>(from[h]) - mean[t]) * rstd[t]);
      of_bias[h] += d;
    }
  }
  with_float_type(dweight.dtype, [&]<class T>(T*) { add_to(dweight.as<T>(), of_weight, hidden); });
  with_float_type(dbias.dtype, [&]<class T>(T*) { add_to(dbias.as<T>(), of_bias, hidden); });
}

}  // namespace

Operation layer_norm_forward(const LayerNormForward& t, double epsilon) {
  static const NameId name = intern("layer_norm_forward");
  require("layer_norm_forward", epsilon >= 0, "epsilon", epsilon, "at least 0");
  return make_operation(name, forward_cpu, norm_cost(7, t.x),
                        {{t.x, Access::in, {"x", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.weight, Access::in, {"weight", 1, t.x.cols, {DataType::bf16}}},
                         {t.bias, Access::in, {"bias", 1, t.x.cols, {DataType::bf16}}},
                         {t.out, Access::out, {"out", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.mean, Access::out, {"mean", 1, t.x.rows, {DataType::f32}}},
                         {t.rstd, Access::out, {"rstd", 1, t.x.rows, {DataType::f32}}}})
      .with_parameters<double>(epsilon);
}

Operation layer_norm_dgrad(const LayerNormDgrad& t) {
  static const NameId name = intern("layer_norm_dgrad");
  return make_operation(name, dgrad_cpu, norm_cost(11, t.x),
                        {{t.x, Access::in, {"x", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.weight, Access::in, {"weight", 1, t.x.cols, {DataType::bf16}}},
                         {t.mean, Access::in, {"mean", 1, t.x.rows, {DataType::f32}}},
                         {t.rstd, Access::in, {"rstd", 1, t.x.rows, {DataType::f32}}},
                         {t.dout, Access::in, {"dout", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.residual, Access::in, {"residual", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.dx, Access::out, {"dx", t.x.rows, t.x.cols, {DataType::bf16}}}});
}

Operation layer_norm_wgrad(const LayerNormWgrad& t) {
  static const NameId name = intern("layer_norm_wgrad");
  return make_operation(name, wgrad_cpu, norm_cost(5, t.x),
                        {{t.x, Access::in, {"x", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.mean, Access::in, {"mean", 1, t.x.rows, {DataType::f32}}},
                         {t.rstd, Access::in, {"rstd", 1, t.x.rows, {DataType::f32}}},
                         {t.dout, Access::in, {"dout", t.x.rows, t.x.cols, {DataType::bf16}}},
                         {t.dweight, Access::inout, {"dweight", 1, t.x.cols, {DataType::f32, DataType::bf16}}},
                         {t.dbias, Access::inout, {"dbias", 1, t.x.cols, {DataType::f32, DataType::bf16}}}});
}

std::span<const KernelInfo> list_layer_norm() {
  static constexpr std::array<KernelInfo, 3> kernels{{
      {"layer_norm", "layer_norm_forward", "out [T,H] = (x - mean) * rstd * weight + bias",
       "7 T H flops; 4 T H + 4 H + 8 T bytes"},
      {"layer_norm", "layer_norm_dgrad", "dx [T,H] = residual + gradient of the norm",
       "11 T H flops; 8 T H + 2 H + 8 T bytes"},
      {"layer_norm", "layer_norm_wgrad", "dweight, dbias [H] += sums of dout * n and dout over tokens",
       "5 T H flops; 4 T H + 8 T bytes, dweight and dbias twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
