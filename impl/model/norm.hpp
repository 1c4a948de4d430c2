// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/model/weights.hpp"

namespace underlap::model {

/// Root-mean-square normalization with a learned weight; with a bias, LayerNorm.
class Norm {
 public:
  /// `bias` -1: no bias.
  Norm(std::string_view slot, std::int32_t parameter, std::int32_t bias);

  /// x, out [T, H] bf16; statistics [1 or 2, T] f32, kept for backward: see Shape::norm_statistics().
  void forward(const Enqueue& enqueue, const Weights& weights, const View& x, const View& out,
               const View& statistics) const;

  /// dx = residual + the gradient of x; residual is what reaches x past the norm. All [T, H] bf16.
  struct Gradients {
    View x;
    View statistics;
    View dout;
    View residual;
    View dx;
  };
  void backward(const Enqueue& enqueue, const Weights& weights, const Gradients& g) const;

 private:
  bool has_bias() const { return bias_ >= 0; }

  std::int32_t parameter_, bias_;
  NameId fprop_;
  NameId dgrad_;
  NameId wgrad_;
};

}  // namespace underlap::model
