// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "impl/cp/attention.hpp"
#include "impl/model/bias.hpp"
#include "impl/model/linear.hpp"
#include "impl/model/norm.hpp"
#include "impl/model/rope.hpp"
#include "impl/model/shared_groups.hpp"

namespace underlap::model {

/// The gradients that a layer's weight gradients are made of: all bf16. T tokens, T/n of them on each rank between
/// layers; see Shape for the other letters.
struct LayerGradients {
  View d_out;         ///< [T/n, H]: of the layer's output, which others own
  Tensor d_fc1;       ///< [T, fc1 features]
  Tensor d_middle;    ///< [T/n, H]: gradient between attention and MLP
  Tensor d_qkv;       ///< [T, (A + 2 G) D]
  Tensor d_qkv_part;  ///< [T, P], where several ranks share a key and value head: see SharedGroups

  LayerGradients(Device& device, const Shape& shape);
};

/// Buffers that all layers share, since layers run one at a time: all bf16.
struct LayerScratch {
  Tensor projected;     ///< [T/n, H]: what proj and fc2 write before the residual is added
  Tensor d_norm;        ///< [T/n, H]
  Tensor d_attention;   ///< [T, A D]
  Tensor d_activation;  ///< [T, F]
  Tensor d_hidden;      ///< [T/n, H]: gradient that runs down the layers of a chunk
  LayerGradients gradients;

  LayerScratch(Device& device, const Shape& shape);
};

/// Inputs of products that nothing but their product reads: bf16.
struct ProductInputs {
  Tensor normed_attention;  ///< [T/n, H]
  Tensor normed_mlp;        ///< [T/n, H]
  Tensor activated;         ///< [T, F]

  ProductInputs(Device& device, const Shape& shape);
};

/// What a layer's forward pass keeps for the backward pass of the same microbatch: bf16 unless noted.
struct LayerActivations {
  View x;                       ///< [T/n, H]: the layer's input, which others own
  Tensor normed_attention;      ///< [T/n, H]
  Tensor attention_statistics;  ///< [1 or 2, T/n] f32: of the norm
  Tensor packed_qkv;            ///< [T, (A + 2 G) D]
  Tensor attended;              ///< [T, A D]
  Tensor middle;                ///< [T/n, H]: after the first residual
  Tensor normed_mlp;            ///< [T/n, H]
  Tensor mlp_statistics;        ///< [1 or 2, T/n] f32
  Tensor fc1_out;               ///< [T, fc1 features]
  Tensor activated;             ///< [T, F]
  std::unique_ptr<cp::Attention::Saved> attention;

  /// `inputs` are the layer's own, or those of all layers that keep them in fp8.
  LayerActivations(Device& device, const Shape& shape, cp::Attention& attention_of_layer, const ProductInputs& inputs);
};

/// What a recomputed layer's last forward pass left. Layers at the same position in their groups share it, since groups
/// run one at a time.
struct RecomputedLayer {
  LayerActivations kept;
  Tensor out;  ///< [T/n, H] bf16: the layer's output, where it is not kept

  /// All but those of attention.
  std::array<Tensor, 10> tensors() const {
    return {kept.normed_attention, kept.attention_statistics, kept.packed_qkv, kept.attended,  kept.middle,
            kept.normed_mlp,       kept.mlp_statistics,       kept.fc1_out,    kept.activated, out};
  }
};

/// What all layers of one rank share, across chunks.
struct SharedLayers {
  Shape shape;
  LayerLinears linears;
  Fp8Linears fp8_linears;
  std::optional<SharedGroups> groups;  ///< where several ranks share a key and value head
  std::optional<Rope> rope;            ///< with position_embedding_type rope
  cp::LayerAttentions attentions;
  LayerScratch scratch;

  /// `tensor` is the group that shares every layer, `context` the one that shares every sequence; both outlive this.
  /// Allocates on their device.
  SharedLayers(tp::Communicators& tensor, cp::Communicators& context, const plan::Config& config);

  /// Of the layers at `position` in a group that attend with `attention`; allocated when it is first asked for.
  RecomputedLayer& recomputed(std::int32_t position, cp::Attention& attention);

  /// For a layer that keeps its activations. Products in fp8 keep a copy of theirs, so these layers share one.
  ProductInputs inputs(bool are_kept_in_fp8);

 private:
  Device& device_;
  std::optional<ProductInputs> fp8_inputs_;
  std::map<std::pair<std::int32_t, cp::Attention*>, RecomputedLayer> recomputed_;
};

/// One transformer layer: norm, qkv, attention, projection, norm, fc1, activation, fc2, with two residual connections.
class Layer {
 public:
  /// `shared` outlives this. Allocates activations unless they are shared.
  Layer(Device& device, SharedLayers& shared, const plan::LayerParameters& parameters, std::int32_t index,
        const Keeping& keeping);

  /// x, out [T/n, H] bf16. x must stay as it is until backward.
  void forward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const View& x, const View& out);

  /// d_out [T/n, H]; d_x [T/n, H] may be the same view. Where `weights` put weight gradients off, it may not, and d_out
  /// stays as it is until wgrad().
  void backward(const Enqueue& enqueue, const Weights& weights, Slot slot, const View& d_out, const View& d_x);

  /// Adds the weight gradients that backward() deferred.
  void wgrad(const Enqueue& enqueue, const Weights& weights, Slot slot);

  /// Of a recomputed layer only: where its output is written if it is not kept, [T/n, H] bf16.
  View recomputed_output() const { return by_token_here(recomputed_->out); }
  /// Of a recomputed layer alone: gives back what forward() left, and recomputed_output().
  void forget(const Enqueue& enqueue) const;

 private:
  View by_token(const Tensor& tensor) const;
  View by_token_here(const Tensor& tensor) const;
  View heads(const Tensor& packed, std::int64_t first_head, std::int64_t num_heads) const;
  cp::Qkv qkv(const Tensor& packed) const;
  View statistics(const Tensor& tensor) const { return matrix(tensor, shape_.norm_statistics(), shape_.tokens_here); }
  void activation_forward(const Enqueue& enqueue, const Weights& weights, const LayerActivations& kept) const;
  void activation_backward(const Enqueue& enqueue, const Weights& weights, const LayerActivations& kept,
                           const LayerGradients& gradients) const;
  void add_residual(const Enqueue& enqueue, const Weights& weights, const Bias& bias, const View& residual,
                    const View& out) const;
  /// A recomputed layer has one place for all slots.
  std::int32_t place_of(std::int32_t slot) const { return recomputed_ != nullptr ? 0 : slot; }
  LayerActivations& kept(std::int32_t place);
  LayerGradients& gradients(const Weights& weights, Slot slot);
  View d_qkv_out(const LayerGradients& gradients) const;
  void acquire(const Enqueue& enqueue) const;

  const Shape& shape_;
  LayerScratch& scratch_;
  const std::optional<SharedGroups>& groups_;
  const std::optional<Rope>& rope_;
  cp::Attention& attention_;
  std::int32_t index_;
  Norm attention_norm_;
  Linear qkv_;
  Linear proj_;
  Norm mlp_norm_;
  Linear fc1_;
  Linear fc2_;
  Bias qkv_bias_, proj_bias_, fc1_bias_, fc2_bias_;

  std::vector<LayerActivations> kept_;     // by slot
  std::vector<LayerGradients> gradients_;  // by slot, if weight gradients are deferred
  RecomputedLayer* recomputed_ = nullptr;  // of a recomputed layer, and then no kept_
};

}  // namespace underlap::model
