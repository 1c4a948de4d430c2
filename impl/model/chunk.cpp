// SPDX-License-Identifier: Apache-2.0
#include "impl/model/chunk.hpp"

#include <iterator>
#include <ranges>

#include "impl/plan/config.hpp"

namespace underlap::model {

Chunk::Chunk(tp::Communicators& communicators, SharedLayers& shared, const plan::Config& config,
             const plan::LayerRange& range, const plan::ModelParameters& parameters, const NumSlots& num_slots)
    : shape_(shared.shape), scratch_(shared.scratch), groups_(layer_groups(config.recompute, range.num_layers)) {
  Device& device = communicators.device();
  Keeping keeping{.num_slots = num_slots.activations, .num_gradient_slots = num_slots.gradients};
  if (range.has_embedding) embedding_.emplace(communicators, shape_, config, parameters);
  for (const LayerGroup& group : groups_)
    for (keeping.position = 0; keeping.position < group.num_layers; ++keeping.position) {
      keeping.is_recomputed = group.is_recomputed;
      layers_.emplace_back(device, shared, parameters.layers[layers_.size()],
                           range.first_layer + group.first + keeping.position, keeping);
    }
  if (range.has_head) head_.emplace(communicators, shared, config, parameters, keeping);
  if (range.has_embedding) embedding_inputs_ = plan::uploads_positions(config) ? 2 : 1;
  if (tokens_of_slot() > 0)
    tokens_ = device.allocate("tokens", DataType::i32, num_slots.activations * tokens_of_slot());
  const std::size_t num_between = groups_.size() + range.has_embedding + range.has_head - 1;
  activations_.resize(static_cast<std::size_t>(num_slots.activations));
  for (Activations& slot : activations_) {
    slot.inputs.resize(groups_.size());
    for (std::size_t i = 0; i < num_between; ++i)
      slot.between.push_back(device.allocate("activations", DataType::bf16, shape_.tokens_here * shape_.hidden));
  }
  gradients_.resize(static_cast<std::size_t>(num_slots.gradients));
  for (std::vector<Tensor>& slot : gradients_)
    for (std::size_t i = 1; i < layers_.size() + range.has_head; ++i)
      slot.push_back(device.allocate("gradients", DataType::bf16, shape_.tokens_here * shape_.hidden));
}

void Chunk::forward(const Enqueue& outer, const Weights& weights, const Pass& pass) {
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::forward;
  upload_tokens(enqueue, pass);
  Activations& slot = activations_[static_cast<std::size_t>(pass.slot)];
  auto between = slot.between.begin();
  View x = pass.input;
  if (embedding_) {
    x = groups_.empty() && !head_ ? pass.output : activation(*between++);
    embedding_->forward(enqueue, weights, inputs(pass.slot), x);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const LayerGroup& group = groups_[i];
    const bool is_last = i + 1 == groups_.size();
    const View out = is_last && !head_ ? pass.output : activation(*between++);
    slot.inputs[i] = x;
    forward(enqueue, weights, pass.slot, group, x, out);
    if (group.is_recomputed)
      for (const Layer& layer : layers_of(group)) layer.forget(enqueue);
    x = out;
  }
  if (head_) head_->forward(enqueue, weights, pass.slot, {x, targets(pass.slot), pass.microbatch}, pass.loss);
}

void Chunk::forward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const LayerGroup& group, View x,
                    const View& out) {
  const std::span<Layer> layers = layers_of(group);
  for (Layer& layer : layers) {
    const View y = &layer == &layers.back() ? out : layer.recomputed_output();
    layer.forward(enqueue, weights, slot, x, y);
    x = y;
  }
}

// Recomputes the whole group, as a framework does that knows only a group's input: the last output is not used.
void Chunk::recompute(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, std::size_t group) {
  forward(enqueue, weights, slot, groups_[group], activations_[static_cast<std::size_t>(slot)].inputs[group],
          layers_of(groups_[group]).back().recomputed_output());
}

kernels::EmbeddedTokens Chunk::inputs(std::int32_t slot) const {
  if (embedding_inputs_ == 1) return tokens(slot, 0);
  return {tokens(slot, 0), tokens(slot, 1)};
}

void Chunk::upload_tokens(const Enqueue& enqueue, const Pass& pass) const {
  static const NameId kTokens = intern("tokens");
  if (tokens_of_slot() == 0) return;
  Tag tag = enqueue.tag;
  tag.kind = Kind::copy;
  tag.purpose = kTokens;
  enqueue.device->upload(enqueue.stream, tag, flat(tokens_, pass.slot * tokens_of_slot(), tokens_of_slot()),
                         std::as_bytes(pass.tokens));
}

// One gradient runs down the layers in place, unless each is kept.
View Chunk::d_output_of(const Layer& layer, const Weights& weights, Slot slot) const {
  if (!weights.puts_off_wgrads) return activation(scratch_.d_hidden);
  return activation(
      gradients_[static_cast<std::size_t>(slot.gradients)][static_cast<std::size_t>(&layer - layers_.data())]);
}

void Chunk::backward(const Enqueue& outer, const Weights& weights, Slot slot, const View& d_output,
                     const View& d_input) {
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::backward;
  const View d_first = embedding_ ? activation(scratch_.d_hidden) : d_input;
  View d_out = d_output;
  if (head_) d_out = layers_.empty() ? d_first : d_output_of(layers_.back(), weights, slot);
  if (head_) head_->backward(enqueue, weights, slot, d_out);
  for (std::size_t g = groups_.size(); g-- > 0;) {
    const LayerGroup& group = groups_[g];
    if (group.is_recomputed) recompute(enqueue, weights, slot.activations, g);
    for (Layer& layer : layers_of(group) | std::views::reverse) {
      const bool is_first = &layer == &layers_.front();
      const View d_x = is_first ? d_first : d_output_of(*std::prev(&layer), weights, slot);
      layer.backward(enqueue, weights, slot, d_out, d_x);
      if (group.is_recomputed) layer.forget(enqueue);
      d_out = d_x;
    }
  }
  if (embedding_) embedding_->backward(enqueue, weights, inputs(slot.activations), d_out);
}

void Chunk::wgrad(const Enqueue& outer, const Weights& weights, Slot slot) {
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::backward;
  if (head_) head_->wgrad(enqueue, weights, slot);
  for (Layer& layer : layers_ | std::views::reverse) layer.wgrad(enqueue, weights, slot);
}

}  // namespace underlap::model
