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

#include "kernels/layer_norm/layer_norm_parameters.hpp"
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
  const double epsilon = views.parameters<LayerNormParameters>().epsilon;
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

double elements(const View& x) { return static_cast<double>(x.elements()); }

}  // namespace

Operation layer_norm_forward(const LayerNormForward& t, double epsilon) {
  constexpr auto kName = "layer_norm_forward";
  require(kName, t.x, {"x", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.weight, {"weight", 1, t.x.cols, {DataType::bf16}});
  require(kName, t.bias, {"bias", 1, t.x.cols, {DataType::bf16}});
  require(kName, t.out, {"out", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.mean, {"mean", 1, t.x.rows, {DataType::f32}});
  require(kName, t.rstd, {"rstd", 1, t.x.rows, {DataType::f32}});
  require(kName, epsilon >= 0, "epsilon", epsilon, "at least 0");
  static const NameId name = intern(kName);
  return Operation(name, forward_cpu,
                   {.flops = 7 * elements(t.x),
                    .bytes_read = t.x.bytes() + t.weight.bytes() + t.bias.bytes(),
                    .bytes_written = t.out.bytes() + t.mean.bytes() + t.rstd.bytes(),
                    .work = Work::norm,
                    .extent = {t.x.rows, t.x.cols, 1}},
                   {{t.x, Access::in},
                    {t.weight, Access::in},
                    {t.bias, Access::in},
                    {t.out, Access::out},
                    {t.mean, Access::out},
                    {t.rstd, Access::out}})
      .with_parameters(LayerNormParameters{epsilon});
}

Operation layer_norm_dgrad(const LayerNormDgrad& t) {
  constexpr auto kName = "layer_norm_dgrad";
  require(kName, t.x, {"x", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.weight, {"weight", 1, t.x.cols, {DataType::bf16}});
  require(kName, t.mean, {"mean", 1, t.x.rows, {DataType::f32}});
  require(kName, t.rstd, {"rstd", 1, t.x.rows, {DataType::f32}});
  require(kName, t.dout, {"dout", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.residual, {"residual", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.dx, {"dx", t.x.rows, t.x.cols, {DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, dgrad_cpu,
                   {.flops = 11 * elements(t.x),
                    .bytes_read = t.x.bytes() + t.weight.bytes() + t.mean.bytes() + t.rstd.bytes() + t.dout.bytes() +
                                  t.residual.bytes(),
                    .bytes_written = t.dx.bytes(),
                    .work = Work::norm,
                    .extent = {t.x.rows, t.x.cols, 1}},
                   {{t.x, Access::in},
                    {t.weight, Access::in},
                    {t.mean, Access::in},
                    {t.rstd, Access::in},
                    {t.dout, Access::in},
                    {t.residual, Access::in},
                    {t.dx, Access::out}});
}

Operation layer_norm_wgrad(const LayerNormWgrad& t) {
  constexpr auto kName = "layer_norm_wgrad";
  require(kName, t.x, {"x", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.mean, {"mean", 1, t.x.rows, {DataType::f32}});
  require(kName, t.rstd, {"rstd", 1, t.x.rows, {DataType::f32}});
  require(kName, t.dout, {"dout", t.x.rows, t.x.cols, {DataType::bf16}});
  require(kName, t.dweight, {"dweight", 1, t.x.cols, {DataType::f32, DataType::bf16}});
  require(kName, t.dbias, {"dbias", 1, t.x.cols, {DataType::f32, DataType::bf16}});
  static const NameId name = intern(kName);
  const std::int64_t gradients = t.dweight.bytes() + t.dbias.bytes();
  return Operation(name, wgrad_cpu,
                   {.flops = 5 * elements(t.x),
                    .bytes_read = t.x.bytes() + t.mean.bytes() + t.rstd.bytes() + t.dout.bytes() + gradients,
                    .bytes_written = gradients,
                    .work = Work::norm,
                    .extent = {t.x.rows, t.x.cols, 1}},
                   {{t.x, Access::in},
                    {t.mean, Access::in},
                    {t.rstd, Access::in},
                    {t.dout, Access::in},
                    {t.dweight, Access::inout},
                    {t.dbias, Access::inout}});
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
