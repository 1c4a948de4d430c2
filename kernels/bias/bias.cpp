// SPDX-License-Identifier: Apache-2.0
//
// One pass over rows each: sums of columns are added row after row into totals that stay in the cache.
#include "kernels/bias/bias.hpp"

#include <algorithm>
#include <array>

#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

void residual_add_cpu(const Arguments& views) {
  const BoundView &residual = views[0], &x = views[1], &out = views[3];
  const bf16* const bias = views[2].as<bf16>();
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const bf16 *const past = residual.row<bf16>(t), *const from = x.row<bf16>(t);
    bf16* const to = out.row<bf16>(t);
    for (std::int64_t h = 0; h < x.cols; ++h)
      to[h] = bf16(static_cast<float>(past[h]) + (static_cast<float>(from[h]) + static_cast<float>(bias[h])));
  }
}

void wgrad_cpu(const Arguments& views) {
  const BoundView &dy = views[0], &dbias = views[1];
  Scratch scratch;
  float* const totals = scratch.take(dy.cols);
  std::fill_n(totals, dy.cols, 0.0F);
  for (std::int64_t t = 0; t < dy.rows; ++t) {
    const bf16* const row = dy.row<bf16>(t);
    for (std::int64_t n = 0; n < dy.cols; ++n) totals[n] += static_cast<float>(row[n]);
  }
  with_float_type(dbias.dtype, [&]<class T>(T*) { add_to(dbias.as<T>(), totals, dy.cols); });
}

}  // namespace

Operation biased_residual_add(const View& residual, const View& x, const View& bias, const View& out) {
  static const NameId name = intern("biased_residual_add");
  return make_operation(name, residual_add_cpu, {.flops = 2 * static_cast<double>(x.elements())},
                        {{residual, Access::in, {"residual", x.rows, x.cols, {DataType::bf16}}},
                         {x, Access::in, {"x", x.rows, x.cols, {DataType::bf16}}},
                         {bias, Access::in, {"bias", 1, x.cols, {DataType::bf16}}},
                         {out, Access::out, {"out", x.rows, x.cols, {DataType::bf16}}}});
}

Operation bias_wgrad(const View& dy, const View& dbias) {
  static const NameId name = intern("bias_wgrad");
  return make_operation(name, wgrad_cpu, {.flops = static_cast<double>(dy.elements())},
                        {{dy, Access::in, {"dy", dy.rows, dy.cols, {DataType::bf16}}},
                         {dbias, Access::inout, {"dbias", 1, dy.cols, {DataType::f32, DataType::bf16}}}});
}

std::span<const KernelInfo> list_bias() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"bias", "biased_residual_add", "out [T,H] = residual + x + bias [H]", "2 T H flops; 6 T H + 2 H bytes"},
      {"bias", "bias_wgrad", "dbias [N] += sums of the columns of dy [T,N]", "T N flops; 2 T N bytes and dbias twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
