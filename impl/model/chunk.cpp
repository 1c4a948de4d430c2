// SPDX-License-Identifier: Apache-2.0
#include "impl/model/chunk.hpp"

namespace underlap::model {

Chunk::Chunk(tp::Channels& channels, SharedLayers& shared, const plan::Config& config, const Stretch& stretch,
             const ModelParameters& parameters, std::int32_t num_slots)
    : shape_(shared.shape), scratch_(shared.scratch) {
  Device& device = channels.device();
  if (stretch.has_embedding) embedding_.emplace(channels, shape_, config, parameters);
  for (std::int32_t i = 0; i < stretch.num_layers; ++i)
    layers_.emplace_back(device, shared, parameters.layers[static_cast<std::size_t>(i)], stretch.first_layer + i,
                         num_slots);
  if (stretch.has_head) head_.emplace(channels, shared, config, parameters, num_slots);
  if (stretch.has_embedding) embedding_inputs_ = config.parallel.context_parallel_size > 1 ? 2 : 1;
  if (tokens_of_slot() > 0) tokens_ = device.allocate("tokens", DataType::i32, num_slots * tokens_of_slot());
  const std::int32_t num_between = stretch.num_layers - 1 + stretch.has_embedding + stretch.has_head;
  between_.resize(static_cast<std::size_t>(num_slots));
  for (std::vector<Tensor>& of_slot : between_)
    for (std::int32_t i = 0; i < num_between; ++i)
      of_slot.push_back(device.allocate("activations", DataType::bf16, shape_.tokens_here * shape_.hidden));
}

void Chunk::forward(const Enqueue& outer, const Weights& weights, const Pass& pass) {
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::forward;
  upload_tokens(enqueue, pass);
  auto between = between_[static_cast<std::size_t>(pass.slot)].begin();
  View x = pass.input;
  if (embedding_) {
    x = activation(*between++);
    embedding_->forward(enqueue, weights, inputs(pass.slot), x);
  }
  for (Layer& layer : layers_) {
    const bool is_last = &layer == &layers_.back();
    const View out = is_last && !head_ ? pass.output : activation(*between++);
    layer.forward(enqueue, weights, pass.slot, x, out);
    x = out;
  }
  if (head_) head_->forward(enqueue, weights, pass.slot, {x, targets(pass.slot), pass.microbatch}, pass.loss);
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
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const View d_x = i == 0 && !embedding_ ? d_input : hidden;
    layers_[i].backward(enqueue, weights, slot, d_out, d_x);
    d_out = d_x;
  }
  if (embedding_) embedding_->backward(enqueue, weights, inputs(slot), d_out);
}

}  // namespace underlap::model
