// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/model/layer.hpp"

namespace underlap::model {

/// A GPT: embedding, layers, head and cross-entropy, as operations on one compute stream.
///
/// One microbatch is in flight at a time: its backward pass follows its forward pass.
class Transformer {
 public:
  /// Allocates activations for micro_batch_size sequences on `device`.
  Transformer(Device& device, const plan::Config& config, const ModelParameters& parameters);

  /// Enqueues a microbatch's forward pass.
  ///
  /// tokens  [2 T] i32: T inputs, then their T targets, each in [0, V)
  /// loss    [1, 1] f32, to which loss_scale times the summed loss of the tokens is added
  void forward(const Enqueue& enqueue, const Weights& weights, std::span<const std::int32_t> tokens, const View& loss);

  /// Enqueues its backward pass: adds the gradients of loss_scale times the summed loss to the main gradients.
  void backward(const Enqueue& enqueue, const Weights& weights);

  /// What each token's loss is multiplied by: one over the tokens of this rank's step, so that gradients are its mean.
  double loss_scale() const { return loss_scale_; }

 private:
  View tokens_by(const Tensor& tensor) const;
  View activations(std::size_t layer) const { return tokens_by(activations_[layer]); }

  Shape shape_;
  double loss_scale_;
  ModelParameters parameters_;
  LayerScratch scratch_;
  std::vector<Layer> layers_;
  Norm final_norm_;
  Linear head_;

  Tensor tokens_;                    // i32 [2, T]: inputs and targets
  std::vector<Tensor> activations_;  // [T, H]: the input of each layer, and last the output of all
  Tensor normed_;                    // [T, H]
  Tensor rstd_;                      // [T] f32
  Tensor logits_;                    // [T, V]
  Tensor lse_;                       // [T] f32
  Tensor d_logits_;                  // [T, V]
  Tensor d_hidden_;                  // [T, H]: gradient that runs down the layers
};

}  // namespace underlap::model
