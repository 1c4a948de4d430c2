// SPDX-License-Identifier: Apache-2.0
#include "impl/model/chunk.hpp"

#include <ranges>

namespace underlap::model {

Chunk::Chunk(tp::Channels& channels, SharedLayers& shared, const plan::Config& config, const Stretch& stretch,
             const ModelParameters& parameters, std::int32_t num_slots)
    : shape_(shared.shape), scratch_(shared.scratch), groups_(layer_groups(config.recompute, stretch.num_layers)) {
  Device& device = channels.device();
  if (stretch.has_embedding) embedding_.emplace(channels, shape_, config, parameters);
  for (const LayerGroup& group : groups_)
    for (std::int32_t i = 0; i < group.num_layers; ++i)
      layers_.emplace_back(device, shared, parameters.layers[layers_.size()], stretch.first_layer + group.first + i,
                           Keeping{.num_slots = num_slots, .is_recomputed = group.is_recomputed, .position = i});
  if (stretch.has_head) head_.emplace(channels, shared, config, parameters, num_slots);
  if (stretch.has_embedding) embedding_inputs_ = config.parallel.context_parallel_size > 1 ? 2 : 1;
  if (tokens_of_slot() > 0) tokens_ = device.allocate("tokens", DataType::i32, num_slots * tokens_of_slot());
  const std::size_t num_between = groups_.size() - 1 + stretch.has_embedding + stretch.has_head;
  slots_.resize(static_cast<std::size_t>(num_slots));
  for (Slot& slot : slots_) {
    slot.inputs.resize(groups_.size());
    for (std::size_t i = 0; i < num_between; ++i)
      slot.between.push_back(device.allocate("activations", DataType::bf16, shape_.tokens_here * shape_.hidden));
  }
}

void Chunk::forward(const Enqueue& outer, const Weights& weights, const Pass& pass) {
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::forward;
  upload_tokens(enqueue, pass);
  Slot& slot = slots_[static_cast<std::size_t>(pass.slot)];
  auto between = slot.between.begin();
  View x = pass.input;
  if (embedding_) {
    x = activation(*between++);
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

// All of it, as a framework does that knows a group by its input alone: the last output is nobody's.
void Chunk::recompute(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, std::size_t group) {
  forward(enqueue, weights, slot, groups_[group], slots_[static_cast<std::size_t>(slot)].inputs[group],
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

void Chunk::backward(const Enqueue& outer, const Weights& weights, std::int32_t slot, const View& d_output,
                     const View& d_input) {
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::backward;
  const View hidden = activation(scratch_.d_hidden);
  if (head_) head_->backward(enqueue, weights, slot, hidden);
  View d_out = head_ ? hidden : d_output;
  for (std::size_t g = groups_.size(); g-- > 0;) {
    const LayerGroup& group = groups_[g];
    if (group.is_recomputed) recompute(enqueue, weights, slot, g);
    for (Layer& layer : layers_of(group) | std::views::reverse) {
      const View d_x = &layer == &layers_.front() && !embedding_ ? d_input : hidden;
      layer.backward(enqueue, weights, slot, d_out, d_x);
      if (group.is_recomputed) layer.forget(enqueue);
      d_out = d_x;
    }
  }
  if (embedding_) embedding_->backward(enqueue, weights, inputs(slot), d_out);
}

}  // namespace underlap::model
