// SPDX-License-Identifier: Apache-2.0
#include "impl/model/layer.hpp"

#include <utility>

#include "impl/plan/config.hpp"
#include "kernels/activation/activation.hpp"
#include "kernels/bias/bias.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace underlap::model {
namespace {

Tensor bf16_tensor(Device& device, std::string_view name, std::int64_t tokens, std::int64_t features) {
  return device.allocate(name, DataType::bf16, tokens * features);
}

cp::AttentionShape attention_shape(const Shape& shape) {
  return {.sequences = shape.tokens / shape.seq_length,
          .seq_here = shape.seq_length,
          .heads = shape.heads,
          .groups = shape.groups,
          .head_size = shape.head_size};
}

}  // namespace

LayerGradients::LayerGradients(Device& device, const Shape& shape) {
  d_fc1 = bf16_tensor(device, "d_fc1", shape.tokens, shape.fc1_features());
  d_middle = bf16_tensor(device, "d_middle", shape.tokens_here, shape.hidden);
  d_qkv = bf16_tensor(device, "d_qkv", shape.tokens, shape.qkv_features());
  if (shape.group_ranks > 1) d_qkv_part = bf16_tensor(device, "d_qkv_part", shape.tokens, shape.qkv_out_features());
}

LayerScratch::LayerScratch(Device& device, const Shape& shape) : gradients(device, shape) {
  projected = bf16_tensor(device, "projected", shape.tokens_here, shape.hidden);
  d_norm = bf16_tensor(device, "d_norm", shape.tokens_here, shape.hidden);
  d_attention = bf16_tensor(device, "d_attention", shape.tokens, shape.attention_features());
  d_activation = bf16_tensor(device, "d_activation", shape.tokens, shape.ffn);
  d_hidden = bf16_tensor(device, "d_hidden", shape.tokens_here, shape.hidden);
}

SharedLayers::SharedLayers(tp::Communicators& tensor, cp::Communicators& context, const plan::Config& config)
    : shape(config, {tensor.group().size(), tensor.group().my_index}),
      linears(tensor, shape, config),
      fp8_linears(tensor, shape, config),
      attentions(context, config, attention_shape(shape)),
      scratch(tensor.device(), shape),
      device_(tensor.device()) {
  if (shape.group_ranks > 1) groups.emplace(tensor, shape);
  if (config.model.is_rotary()) rope.emplace(context, config.model);
}

RecomputedLayer& SharedLayers::recomputed(std::int32_t position, cp::Attention& attention) {
  const auto found = recomputed_.find({position, &attention});
  if (found != recomputed_.end()) return found->second;
  RecomputedLayer layer{LayerActivations(device_, shape, attention, inputs(false)),
                        bf16_tensor(device_, "recomputed_output", shape.tokens_here, shape.hidden)};
  return recomputed_.emplace(std::pair(position, &attention), std::move(layer)).first->second;
}

ProductInputs SharedLayers::inputs(bool are_kept_in_fp8) {
  if (!are_kept_in_fp8) return {device_, shape};
  if (!fp8_inputs_) fp8_inputs_.emplace(device_, shape);
  return *fp8_inputs_;
}

ProductInputs::ProductInputs(Device& device, const Shape& shape)
    : normed_attention(bf16_tensor(device, "normed_attention", shape.tokens_here, shape.hidden)),
      normed_mlp(bf16_tensor(device, "normed_mlp", shape.tokens_here, shape.hidden)),
      activated(bf16_tensor(device, "activated", shape.tokens, shape.ffn)) {}

LayerActivations::LayerActivations(Device& device, const Shape& shape, cp::Attention& attention_of_layer,
                                   const ProductInputs& inputs)
    : normed_attention(inputs.normed_attention), normed_mlp(inputs.normed_mlp), activated(inputs.activated) {
  const std::int64_t here = shape.tokens_here;
  attention_statistics = device.allocate("attention_statistics", DataType::f32, shape.norm_statistics() * here);
  packed_qkv = bf16_tensor(device, "packed_qkv", shape.tokens, shape.qkv_features());
  attended = bf16_tensor(device, "attended", shape.tokens, shape.attention_features());
  attention = attention_of_layer.allocate_saved();
  middle = bf16_tensor(device, "middle", here, shape.hidden);
  mlp_statistics = device.allocate("mlp_statistics", DataType::f32, shape.norm_statistics() * here);
  fc1_out = bf16_tensor(device, "fc1_out", shape.tokens, shape.fc1_features());
}

Layer::Layer(Device& device, SharedLayers& shared, const plan::LayerParameters& parameters, std::int32_t index,
             const Keeping& keeping)
    : shape_(shared.shape),
      scratch_(shared.scratch),
      groups_(shared.groups),
      rope_(shared.rope),
      attention_(shared.attentions.of_layer(index)),
      index_(index),
      attention_norm_("attention_norm", parameters.attention_norm, parameters.attention_norm_bias),
      qkv_(*shared.linears.qkv, parameters.qkv,
           shared.fp8_linears.make("qkv", index, shape_.hidden, shape_.qkv_out_features(), keeping),
           parameters.qkv_bias),
      proj_(*shared.linears.proj, parameters.proj,
            shared.fp8_linears.make("proj", index, shape_.attention_features(), shape_.hidden, keeping)),
      mlp_norm_("mlp_norm", parameters.mlp_norm, parameters.mlp_norm_bias),
      fc1_(*shared.linears.fc1, parameters.fc1,
           shared.fp8_linears.make("fc1", index, shape_.hidden, shape_.fc1_features(), keeping)),
      fc2_(*shared.linears.fc2, parameters.fc2,
           shared.fp8_linears.make("fc2", index, shape_.ffn, shape_.hidden, keeping)),
      qkv_bias_("qkv", parameters.qkv_bias),
      proj_bias_("proj", parameters.proj_bias),
      fc1_bias_("fc1", parameters.fc1_bias),
      fc2_bias_("fc2", parameters.fc2_bias) {
  if (keeping.is_recomputed) {
    recomputed_ = &shared.recomputed(keeping.position, attention_);
    return;
  }
  for (std::int32_t slot = 0; slot < keeping.num_slots; ++slot)
    kept_.emplace_back(device, shape_, attention_, shared.inputs(qkv_.is_in_fp8()));
  for (std::int32_t slot = 0; slot < keeping.num_gradient_slots; ++slot) gradients_.emplace_back(device, shape_);
}

LayerActivations& Layer::kept(std::int32_t place) {
  return recomputed_ != nullptr ? recomputed_->kept : kept_[static_cast<std::size_t>(place)];
}

LayerGradients& Layer::gradients(const Weights& weights, Slot slot) {
  return weights.puts_off_wgrads ? gradients_[static_cast<std::size_t>(slot.gradients)] : scratch_.gradients;
}

View Layer::d_qkv_out(const LayerGradients& gradients) const {
  return by_token(groups_ ? gradients.d_qkv_part : gradients.d_qkv);
}

void Layer::acquire(const Enqueue& enqueue) const {
  for (const Tensor& tensor : recomputed_->tensors()) enqueue.device->acquire(enqueue.stream, flat(tensor));
}

void Layer::forget(const Enqueue& enqueue) const {
  for (const Tensor& tensor : recomputed_->tensors()) enqueue.device->release(enqueue.stream, flat(tensor));
}

View Layer::by_token(const Tensor& tensor) const {
  return matrix(tensor, shape_.tokens, tensor.elements / shape_.tokens);
}

View Layer::by_token_here(const Tensor& tensor) const {
  return matrix(tensor, shape_.tokens_here, tensor.elements / shape_.tokens_here);
}

View Layer::heads(const Tensor& packed, std::int64_t first_head, std::int64_t num_heads) const {
  return columns_of(by_token(packed), first_head * shape_.head_size, num_heads * shape_.head_size);
}

cp::Qkv Layer::qkv(const Tensor& packed) const {
  const std::int64_t a = shape_.heads, g = shape_.groups;
  return {.q = heads(packed, 0, a), .k = heads(packed, a, g), .v = heads(packed, a + g, g)};
}

void Layer::forward(const Enqueue& outer, const Weights& weights, std::int32_t slot, const View& x, const View& out) {
  const Enqueue enqueue = outer.in_layer(index_);
  const std::int32_t place = place_of(slot);
  LayerActivations& kept = this->kept(place);
  if (recomputed_ != nullptr) acquire(enqueue);
  kept.x = x;
  attention_norm_.forward(enqueue, weights, x, by_token_here(kept.normed_attention),
                          statistics(kept.attention_statistics));
  const View packed = by_token(kept.packed_qkv);
  qkv_.fprop(enqueue, weights, place, by_token_here(kept.normed_attention), groups_ ? groups_->part() : packed);
  if (groups_) groups_->gather(enqueue, packed);
  if (rope_) rope_->forward(enqueue, qkv(kept.packed_qkv));
  attention_.forward(enqueue.tag, qkv(kept.packed_qkv), by_token(kept.attended), *kept.attention);
  proj_.fprop(enqueue, weights, place, by_token(kept.attended), by_token_here(scratch_.projected));
  add_residual(enqueue, weights, proj_bias_, x, by_token_here(kept.middle));
  mlp_norm_.forward(enqueue, weights, by_token_here(kept.middle), by_token_here(kept.normed_mlp),
                    statistics(kept.mlp_statistics));
  fc1_.fprop(enqueue, weights, place, by_token_here(kept.normed_mlp), by_token(kept.fc1_out));
  activation_forward(enqueue, weights, kept);
  fc2_.fprop(enqueue, weights, place, by_token(kept.activated), by_token_here(scratch_.projected));
  add_residual(enqueue, weights, fc2_bias_, by_token_here(kept.middle), out);
}

void Layer::backward(const Enqueue& outer, const Weights& weights, Slot slot, const View& d_out, const View& d_x) {
  const Enqueue enqueue = outer.in_layer(index_);
  const std::int32_t place = place_of(slot.activations);
  const LayerActivations& kept = this->kept(place);
  LayerGradients& gradients = this->gradients(weights, slot);
  gradients.d_out = d_out;
  fc2_bias_.backward(enqueue, weights, d_out);
  fc2_.backward(enqueue, weights, place, d_out, by_token(kept.activated), by_token(scratch_.d_activation));
  activation_backward(enqueue, weights, kept, gradients);
  fc1_bias_.backward(enqueue, weights, by_token(gradients.d_fc1));
  fc1_.backward(enqueue, weights, place, by_token(gradients.d_fc1), by_token_here(kept.normed_mlp),
                by_token_here(scratch_.d_norm));
  const View d_middle = by_token_here(gradients.d_middle);
  mlp_norm_.backward(enqueue, weights,
                     {.x = by_token_here(kept.middle),
                      .statistics = statistics(kept.mlp_statistics),
                      .dout = by_token_here(scratch_.d_norm),
                      .residual = d_out,
                      .dx = d_middle});
  proj_bias_.backward(enqueue, weights, d_middle);
  proj_.backward(enqueue, weights, place, d_middle, by_token(kept.attended), by_token(scratch_.d_attention));
  attention_.backward(enqueue.tag, qkv(kept.packed_qkv), by_token(kept.attended), by_token(scratch_.d_attention),
                      qkv(gradients.d_qkv), *kept.attention);
  if (rope_) rope_->backward(enqueue, qkv(gradients.d_qkv));
  if (groups_) groups_->reduce(enqueue, by_token(gradients.d_qkv), by_token(gradients.d_qkv_part));
  qkv_bias_.backward(enqueue, weights, d_qkv_out(gradients));
  qkv_.backward(enqueue, weights, place, d_qkv_out(gradients), by_token_here(kept.normed_attention),
                by_token_here(scratch_.d_norm));
  attention_norm_.backward(enqueue, weights,
                           {.x = kept.x,
                            .statistics = statistics(kept.attention_statistics),
                            .dout = by_token_here(scratch_.d_norm),
                            .residual = d_middle,
                            .dx = d_x});
}

void Layer::wgrad(const Enqueue& outer, const Weights& weights, Slot slot) {
  const Enqueue enqueue = outer.in_layer(index_);
  const LayerActivations& kept = this->kept(place_of(slot.activations));
  const LayerGradients& gradients = gradients_[static_cast<std::size_t>(slot.gradients)];
  fc2_.wgrad(enqueue, weights, gradients.d_out, by_token(kept.activated));
  fc1_.wgrad(enqueue, weights, by_token(gradients.d_fc1), by_token_here(kept.normed_mlp));
  proj_.wgrad(enqueue, weights, by_token_here(gradients.d_middle), by_token(kept.attended));
  qkv_.wgrad(enqueue, weights, d_qkv_out(gradients), by_token_here(kept.normed_attention));
}

void Layer::add_residual(const Enqueue& enqueue, const Weights& weights, const Bias& bias, const View& residual,
                         const View& out) const {
  static const NameId kResidual = intern("residual_add");
  const View x = by_token_here(scratch_.projected);
  if (!bias.is_there()) return enqueue(kResidual, kernels::residual_add(residual, x, out));
  const View values = bias.gathered(weights);
  enqueue(kResidual, kernels::biased_residual_add(residual, x, values, out));
}

void Layer::activation_forward(const Enqueue& enqueue, const Weights& weights, const LayerActivations& kept) const {
  static const NameId kPurpose = intern("activation_fprop");
  const View bias = fc1_bias_.gathered(weights);
  const View x = by_token(kept.fc1_out);
  const View out = by_token(kept.activated);
  switch (shape_.activation) {
    case plan::Activation::swiglu: return enqueue(kPurpose, kernels::swiglu_forward(x, out, bias));
    case plan::Activation::gelu: return enqueue(kPurpose, kernels::gelu_forward(x, out, bias));
    case plan::Activation::squared_relu: return enqueue(kPurpose, kernels::squared_relu_forward(x, out, bias));
  }
}

void Layer::activation_backward(const Enqueue& enqueue, const Weights& weights, const LayerActivations& kept,
                                const LayerGradients& gradients) const {
  const View bias = fc1_bias_.value(weights);
  static const NameId kPurpose = intern("activation_dgrad");
  const View x = by_token(kept.fc1_out);
  const View dout = by_token(scratch_.d_activation);
  const View dx = by_token(gradients.d_fc1);
  switch (shape_.activation) {
    case plan::Activation::swiglu: return enqueue(kPurpose, kernels::swiglu_backward(x, dout, dx, bias));
    case plan::Activation::gelu: return enqueue(kPurpose, kernels::gelu_backward(x, dout, dx, bias));
    case plan::Activation::squared_relu: return enqueue(kPurpose, kernels::squared_relu_backward(x, dout, dx, bias));
  }
}

}  // namespace underlap::model
