// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/model/linear.hpp"
#include "impl/model/norm.hpp"

namespace underlap::model {

/// Sizes of one microbatch. T tokens, S sequence length.
struct Shape {
  plan::ModelConfig model;
  std::int64_t tokens = 0;
};

/// Buffers that all layers share because only one is at work: all bf16.
struct LayerScratch {
  Tensor projected;     ///< [T, H]: what proj and fc2 write before the residual is added
  Tensor d_norm;        ///< [T, H]
  Tensor d_attention;   ///< [T, A D]
  Tensor d_qkv;         ///< [T, (A + 2 G) D]
  Tensor d_activation;  ///< [T, F]
  Tensor d_fc1;         ///< [T, fc1 features]
  Tensor d_middle;      ///< [T, H]: gradient between attention and MLP

  LayerScratch(Device& device, const Shape& shape);
};

/// One transformer layer: norm, qkv, attention, projection, norm, fc1, activation, fc2, with two residual connections.
class Layer {
 public:
  Layer(Device& device, const Shape& shape, const LayerParameters& parameters, std::int32_t index);

  /// x, out [T, H] bf16. x must stay as it is until backward.
  void forward(const Enqueue& enqueue, const Weights& weights, const LayerScratch& scratch, const View& x,
               const View& out);

  /// d_out [T, H]; d_x [T, H] may be the same view.
  void backward(const Enqueue& enqueue, const Weights& weights, const LayerScratch& scratch, const View& d_out,
                const View& d_x);

 private:
  View tokens_by(const Tensor& tensor) const;
  View heads(const Tensor& packed, std::int64_t first_head, std::int64_t num_heads) const;
  void attention_forward(const Enqueue& enqueue) const;
  void attention_backward(const Enqueue& enqueue, const LayerScratch& scratch) const;
  void activation_forward(const Enqueue& enqueue) const;
  void activation_backward(const Enqueue& enqueue, const LayerScratch& scratch) const;

  Shape shape_;
  std::int32_t index_;
  Norm attention_norm_;
  Linear qkv_;
  Linear proj_;
  Norm mlp_norm_;
  Linear fc1_;
  Linear fc2_;

  View x_;                   // the layer's input of the microbatch in flight
  Tensor normed_attention_;  // [T, H]
  Tensor attention_rstd_;    // [T] f32
  Tensor packed_qkv_;        // [T, (A + 2 G) D]
  Tensor attended_;          // [T, A D]
  Tensor lse_;               // [A, T] f32
  Tensor middle_;            // [T, H]: after the first residual
  Tensor normed_mlp_;        // [T, H]
  Tensor mlp_rstd_;          // [T] f32
  Tensor fc1_out_;           // [T, fc1 features]
  Tensor activated_;         // [T, F]
};

}  // namespace underlap::model
