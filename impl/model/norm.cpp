// SPDX-License-Identifier: Apache-2.0
#include "impl/model/norm.hpp"

#include <string>

#include "kernels/rms_norm/rms_norm.hpp"

namespace underlap::model {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

Norm::Norm(std::string_view slot, std::int32_t parameter)
    : parameter_(parameter),
      fprop_(intern(std::string(slot) + "_fprop")),
      dgrad_(intern(std::string(slot) + "_dgrad")),
      wgrad_(intern(std::string(slot) + "_wgrad")) {}

void Norm::forward(const Enqueue& enqueue, const Weights& weights, const View& x, const View& out,
                   const View& rstd) const {
  const View weight = weights.gathered(parameter_);
  enqueue(fprop_, kernels::rms_norm_forward(x, weight, out, rstd, kEpsilon));
}

void Norm::backward(const Enqueue& enqueue, const Weights& weights, const Gradients& g) const {
  enqueue(wgrad_, kernels::rms_norm_wgrad(g.x, g.rstd, g.dout, weights.main_grad(parameter_)));
  weights.after_wgrad({parameter_});
  enqueue(dgrad_, kernels::rms_norm_dgrad({.x = g.x,
                                           .weight = weights.weight(parameter_),
                                           .rstd = g.rstd,
                                           .dout = g.dout,
                                           .residual = g.residual,
                                           .dx = g.dx}));
}

}  // namespace underlap::model
