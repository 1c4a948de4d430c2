// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/model/weights.hpp"

namespace underlap::model {

/// The bias of a linear layer with add_bias_linear: [1, out features], or none.
///
/// It is added by the operation that Megatron Core fuses it into: qkv's product, fc1's activation, and, for proj and
/// fc2, the addition of the residual after the reduction. Its gradient is a separate kernel over the gradient of the
/// layer's output; Transformer Engine computes qkv's in the weight gradient's product instead. In a tensor-parallel
/// group that splits tokens, each rank has the gradients of proj's and fc2's from its own tokens only: see
/// NormGradients. Source: Megatron Core with bias_activation_fusion and bias_dropout_fusion, which Megatron-Bridge's
/// GPT enables.
class Bias {
 public:
  /// `name` is the layer's, the first part of the purpose; parameter -1: none.
  Bias(std::string_view name, std::int32_t parameter);

  bool is_there() const { return parameter_ >= 0; }
  std::int32_t parameter() const { return parameter_; }

  /// Waits for it where it is there; no view where it is not.
  View gathered(const Weights& weights) const { return is_there() ? weights.gathered(parameter_) : View{}; }
  /// The same once it was waited for, in the backward pass.
  View value(const Weights& weights) const { return is_there() ? weights.weight(parameter_) : View{}; }

  /// Adds the gradient that is made of dy [tokens, out] bf16; nothing where there is no bias.
  void backward(const Enqueue& enqueue, const Weights& weights, const View& dy) const;

 private:
  std::int32_t parameter_;
  NameId wgrad_;
};

}  // namespace underlap::model
