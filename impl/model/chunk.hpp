// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "impl/model/embedding.hpp"
#include "impl/model/head.hpp"
#include "impl/model/layer_groups.hpp"

namespace underlap::model {

/// A range of a GPT as operations on one compute stream and the streams of its linear layers. It has layers, the
/// embedding before the model's first layer, and the head and loss after its last. One range can be all of it.
///
/// Several microbatches may be between their forward and their backward pass; each has a slot. Of layers that are
/// recomputed a slot keeps the input of each group, and the backward pass begins with the group's forward pass,
/// transfers included:
///
///   forward   | group 0 | group 1 | head |
///   backward  | head | group 1 again | group 1 backward | group 0 again | group 0 backward |
///
/// A backward pass can defer the weight gradients of linear layers. Their operands are then kept until wgrad() in a
/// slot of another kind. The backward pass computes those of norms and of the embedding, which take little time,
/// itself.
/// Source: Qi et al. 2024, section 2: B and W.
class Chunk {
 public:
  /// Microbatches at once: between the beginning of their forward pass and the end of their backward pass, and between
  /// the two halves of the latter, 0 where it is never halved.
  struct NumSlots {
    std::int32_t activations = 1;
    std::int32_t gradients = 0;
  };

  /// Allocates on the device of `communicators`, whose group shares every layer. `shared` outlives this.
  Chunk(tp::Communicators& communicators, SharedLayers& shared, const plan::Config& config,
        const plan::LayerRange& range, const plan::ModelParameters& parameters, const NumSlots& num_slots);

  /// What a forward pass takes and gives. Activations are [T/n, H] bf16.
  struct Pass {
    std::int32_t slot = 0;
    std::int64_t microbatch = 0;  ///< of the step
    /// With the embedding: T inputs and, in a context-parallel group, the position of each in its sequence. With the
    /// head: T targets.
    std::span<const std::int32_t> tokens = {};
    View input = {};   ///< without the embedding; stays as it is until backward
    View output = {};  ///< without the head
    View loss = {};    ///< with the head: [1, 1] f32, to which loss_scale times the summed loss of the tokens is added
  };
  void forward(const Enqueue& enqueue, const Weights& weights, const Pass& pass);

  /// Enqueues the backward pass of the microbatch in `slot`: adds to the main gradients, except those that `weights`
  /// defers.
  ///
  /// d_output  without the head: the gradient of its output; if a gradient is deferred it must not change until wgrad()
  /// d_input   without the embedding: where the gradient of its input is written
  void backward(const Enqueue& enqueue, const Weights& weights, Slot slot, const View& d_output, const View& d_input);

  /// Adds the weight gradients that the backward pass of the microbatch in `slot` deferred.
  void wgrad(const Enqueue& enqueue, const Weights& weights, Slot slot);

  /// Called after the step's last backward pass: adds the head's deferred weight gradients. Only with a head, under
  /// defer_embedding_wgrad_compute.
  void finish_deferred_wgrads(const Enqueue& enqueue, const Weights& weights) {
    head_.value().finish_wgrads(enqueue, weights);
  }

 private:
  std::span<Layer> layers_of(const LayerGroup& group) {
    return std::span(layers_).subspan(static_cast<std::size_t>(group.first),
                                      static_cast<std::size_t>(group.num_layers));
  }
  void forward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const LayerGroup& group, View x,
               const View& out);
  View d_output_of(const Layer& layer, const Weights& weights, Slot slot) const;
  void recompute(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, std::size_t group);
  View activation(const Tensor& tensor) const { return matrix(tensor, shape_.tokens_here, shape_.hidden); }
  std::int64_t tokens_of_slot() const { return (embedding_inputs_ + head_.has_value()) * shape_.tokens; }
  View tokens(std::int32_t slot, std::int64_t i) const {
    return flat(tokens_, slot * tokens_of_slot() + i * shape_.tokens, shape_.tokens);
  }
  kernels::EmbeddedTokens inputs(std::int32_t slot) const;
  View targets(std::int32_t slot) const { return tokens(slot, embedding_inputs_); }
  void upload_tokens(const Enqueue& enqueue, const Pass& pass) const;

  const Shape& shape_;
  const LayerScratch& scratch_;
  std::optional<Embedding> embedding_;
  std::vector<LayerGroup> groups_;
  std::vector<Layer> layers_;
  std::optional<Head> head_;
  std::int64_t embedding_inputs_ = 0;  // times T numbers that the embedding takes
  Tensor tokens_;                      // i32 [slots, those and targets]; no tensor where neither is needed
  struct Activations {
    std::vector<Tensor> between;  // [T/n, H] after the embedding and each group, where it stays here
    std::vector<View> inputs;     // of each group
  };
  std::vector<Activations> activations_;        // by slot
  std::vector<std::vector<Tensor>> gradients_;  // by slot: [T/n, H] of each layer's output, where it is made here
};

}  // namespace underlap::model
