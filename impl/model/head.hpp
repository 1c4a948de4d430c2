// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "impl/model/layer.hpp"

namespace underlap::model {

/// The end of a model: last norm, output layer and cross-entropy.
///
/// In a tensor-parallel group output layer and loss are split by vocabulary, and the all-reduces of the loss are waited
/// for. Source: Megatron Core's vocab_parallel_cross_entropy.
///
/// With defer_embedding_wgrad_compute the first wgrad_deferral_limit microbatches of a step (0: all) compute no weight
/// gradient of the output layer in their backward pass. The layer's input and the gradient of its output are kept until
/// finish_wgrads(). Later microbatches compute theirs at once, so that with a limit the sum has another order.
class Head {
 public:
  /// Allocates on the device of `communicators`. `shared` outlives this.
  Head(tp::Communicators& communicators, const SharedLayers& shared, const plan::Config& config,
       const plan::ModelParameters& parameters, const Keeping& keeping);

  /// What must stay as it is until backward.
  struct Input {
    View x;                       ///< [T/n, H] bf16
    View targets;                 ///< [1, T] i32, each in [0, V)
    std::int64_t microbatch = 0;  ///< of the step
  };
  /// loss [1, 1] f32, to which loss_scale times the summed loss of the tokens is added.
  void forward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const Input& input, const View& loss);
  /// d_x [T/n, H] bf16: the gradient of loss_scale times the summed loss.
  void backward(const Enqueue& enqueue, const Weights& weights, Slot slot, const View& d_x);
  /// Adds the weight gradients that backward() deferred as `weights` required.
  void wgrad(const Enqueue& enqueue, const Weights& weights, Slot slot);
  /// Called after the step's last backward pass: adds the deferred weight gradients. Only if there are any.
  void finish_wgrads(const Enqueue& enqueue, const Weights& weights);

 private:
  // What forward leaves for backward.
  struct Kept {
    Input input;
    Tensor statistics;  // [1 or 2, T/n] f32: of the norm
    Tensor logits;      // [T, V]
    Tensor lse;         // [T] f32
  };
  // What the output layer's weight gradient is made of.
  struct WgradOperands {
    Tensor normed;    // [T/n, H]
    Tensor d_logits;  // [T, V]
  };

  bool is_put_off(std::int64_t microbatch) const { return microbatch < std::ssize(put_off_); }
  WgradOperands operands(Slot slot, std::int64_t microbatch) const;

  View by_token(const Tensor& tensor) const { return matrix(tensor, shape_.tokens, shape_.vocab); }
  View statistics(const Kept& kept) const {
    return matrix(kept.statistics, shape_.norm_statistics(), shape_.tokens_here);
  }
  View by_token_here(const Tensor& tensor) const { return matrix(tensor, shape_.tokens_here, shape_.hidden); }
  void find_loss(const Enqueue& enqueue, const Kept& kept, const View& loss) const;

  const Shape& shape_;
  const LayerScratch& scratch_;
  std::int64_t vocab_size_;
  double loss_scale_;  // one over the tokens of this rank's step, so that gradients are its mean
  tp::Collectives collectives_;
  std::unique_ptr<tp::Linear> over_group_;
  Norm norm_;
  Linear linear_;
  std::int32_t parameter_;                 // the output layer's
  std::unique_ptr<tp::WgradDrain> drain_;  // if weight gradients are deferred
  std::vector<Kept> kept_;                 // by slot
  std::vector<WgradOperands> put_off_;     // of the first microbatches of a step
  std::vector<Tensor> normed_;             // by slot, of the others
  std::vector<Tensor> d_logits_;           // by slot of gradients, of the others

  // Of a tensor-parallel group alone.
  Tensor loss_max_;   // [T] f32
  Tensor loss_sums_;  // [2, T] f32
};

}  // namespace underlap::model
