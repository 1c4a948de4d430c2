// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/model/weights.hpp"

namespace underlap::model {

/// Root-mean-square normalisation with a learned weight.
class Norm {
 public:
  Norm(std::string_view slot, std::int32_t parameter);

  /// x, out [T, H] bf16; rstd [1, T] f32, kept for backward.
  void forward(const Enqueue& enqueue, const Weights& weights, const View& x, const View& out, const View& rstd) const;

  /// dx = residual + the gradient of x; residual is what reaches x past the norm. All [T, H] bf16.
  struct Gradients {
    View x;
    View rstd;
    View dout;
    View residual;
    View dx;
  };
  void backward(const Enqueue& enqueue, const Weights& weights, const Gradients& g) const;

 private:
  std::int32_t parameter_;
  NameId fprop_;
  NameId dgrad_;
  NameId wgrad_;
};

}  // namespace underlap::model
