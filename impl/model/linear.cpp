// SPDX-License-Identifier: Apache-2.0
#include "impl/model/linear.hpp"

#include <string>

#include "kernels/gemm/gemm.hpp"

namespace underlap::model {

Linear::Linear(std::string_view slot, std::int32_t parameter)
    : parameter_(parameter),
      fprop_(intern(std::string(slot) + "_fprop")),
      dgrad_(intern(std::string(slot) + "_dgrad")),
      wgrad_(intern(std::string(slot) + "_wgrad")) {}

void Linear::fprop(const Enqueue& enqueue, const Weights& weights, const View& x, const View& y) const {
  const View weight = weights.gathered(parameter_);
  enqueue(fprop_, kernels::gemm_fprop(x, weight, y));
}

void Linear::dgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& dx) const {
  enqueue(dgrad_, kernels::gemm_dgrad(dy, weights.weight(parameter_), dx));
}

void Linear::wgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& x) const {
  enqueue(wgrad_, kernels::gemm_wgrad(dy, x, weights.main_grad(parameter_)));
  weights.after_wgrad({parameter_});
}

}  // namespace underlap::model
