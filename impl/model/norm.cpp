// SPDX-License-Identifier: Apache-2.0
#include "impl/model/norm.hpp"

#include <string>

#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/rms_norm/rms_norm.hpp"

namespace underlap::model {
namespace {

constexpr double kEpsilon = 1e-5;

/// One kind of statistics, [1, T].
View row(const View& statistics, std::int64_t i) {
  return flat(statistics.tensor, statistics.offset + i * statistics.leading_dimension, statistics.cols);
}
View rstd(const View& statistics) { return row(statistics, 0); }
View mean(const View& statistics) { return row(statistics, 1); }

}  // namespace

Norm::Norm(std::string_view slot, std::int32_t parameter, std::int32_t bias)
    : parameter_(parameter),
      bias_(bias),
      fprop_(intern(std::string(slot) + "_fprop")),
      dgrad_(intern(std::string(slot) + "_dgrad")),
      wgrad_(intern(std::string(slot) + "_wgrad")) {}

void Norm::forward(const Enqueue& enqueue, const Weights& weights, const View& x, const View& out,
                   const View& statistics) const {
  const View weight = weights.gathered(parameter_);
  if (!has_bias()) return enqueue(fprop_, kernels::rms_norm_forward(x, weight, out, rstd(statistics), kEpsilon));
  const View bias = weights.gathered(bias_);
  enqueue(fprop_,
          kernels::layer_norm_forward(
              {.x = x, .weight = weight, .bias = bias, .out = out, .mean = mean(statistics), .rstd = rstd(statistics)},
              kEpsilon));
}

void Norm::backward(const Enqueue& enqueue, const Weights& weights, const Gradients& g) const {
  const View rstd = model::rstd(g.statistics), weight = weights.weight(parameter_);
  if (!has_bias()) {
    enqueue(wgrad_, kernels::rms_norm_wgrad(g.x, rstd, g.dout, weights.main_grad(parameter_)));
    weights.after_wgrad({parameter_});
    return enqueue(dgrad_,
                   kernels::rms_norm_dgrad(
                       {.x = g.x, .weight = weight, .rstd = rstd, .dout = g.dout, .residual = g.residual, .dx = g.dx}));
  }
  const View mean = model::mean(g.statistics);
  enqueue(wgrad_, kernels::layer_norm_wgrad({.x = g.x,
                                             .mean = mean,
                                             .rstd = rstd,
                                             .dout = g.dout,
                                             .dweight = weights.main_grad(parameter_),
                                             .dbias = weights.main_grad(bias_)}));
  weights.after_wgrad({bias_, parameter_});
  enqueue(dgrad_, kernels::layer_norm_dgrad({.x = g.x,
                                             .weight = weight,
                                             .mean = mean,
                                             .rstd = rstd,
                                             .dout = g.dout,
                                             .residual = g.residual,
                                             .dx = g.dx}));
}

}  // namespace underlap::model
