// SPDX-License-Identifier: Apache-2.0
#include "impl/model/bias.hpp"

#include <string>

#include "kernels/bias/bias.hpp"

namespace underlap::model {

Bias::Bias(std::string_view name, std::int32_t parameter)
    : parameter_(parameter), wgrad_(intern(std::string(name) + "_bias_wgrad")) {}

void Bias::backward(const Enqueue& enqueue, const Weights& weights, const View& dy) const {
  if (!is_there()) return;
  enqueue(wgrad_, kernels::bias_wgrad(dy, weights.main_grad(parameter_)));
  weights.after_wgrad({parameter_});
}

}  // namespace underlap::model
