// SPDX-License-Identifier: Apache-2.0
#include "impl/model/layer.hpp"

#include "kernels/activation/activation.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace underlap::model {
namespace {

std::int64_t packed_heads(const plan::ModelConfig& m) { return m.num_attention_heads + 2 * m.num_query_groups; }

Tensor bf16_tensor(Device& device, std::string_view name, std::int64_t tokens, std::int64_t features) {
  return device.allocate(name, DataType::bf16, tokens * features);
}

}  // namespace

LayerScratch::LayerScratch(Device& device, const Shape& shape) {
  const plan::ModelConfig& m = shape.model;
  const std::int64_t t = shape.tokens;
  projected = bf16_tensor(device, "projected", t, m.hidden_size);
  d_norm = bf16_tensor(device, "d_norm", t, m.hidden_size);
  d_attention = bf16_tensor(device, "d_attention", t, m.num_attention_heads * m.head_size());
  d_qkv = bf16_tensor(device, "d_qkv", t, packed_heads(m) * m.head_size());
  d_activation = bf16_tensor(device, "d_activation", t, m.ffn_hidden_size);
  d_fc1 = bf16_tensor(device, "d_fc1", t, fc1_features(m));
  d_middle = bf16_tensor(device, "d_middle", t, m.hidden_size);
}

Layer::Layer(Device& device, const Shape& shape, const LayerParameters& parameters, std::int32_t index)
    : shape_(shape),
      index_(index),
      attention_norm_("attention_norm", parameters.attention_norm),
      qkv_("qkv", parameters.qkv),
      proj_("proj", parameters.proj),
      mlp_norm_("mlp_norm", parameters.mlp_norm),
      fc1_("fc1", parameters.fc1),
      fc2_("fc2", parameters.fc2) {
  const plan::ModelConfig& m = shape.model;
  const std::int64_t t = shape.tokens;
  normed_attention_ = bf16_tensor(device, "normed_attention", t, m.hidden_size);
  attention_rstd_ = device.allocate("attention_rstd", DataType::f32, t);
  packed_qkv_ = bf16_tensor(device, "packed_qkv", t, packed_heads(m) * m.head_size());
  attended_ = bf16_tensor(device, "attended", t, m.num_attention_heads * m.head_size());
  lse_ = device.allocate("lse", DataType::f32, m.num_attention_heads * t);
  middle_ = bf16_tensor(device, "middle", t, m.hidden_size);
  normed_mlp_ = bf16_tensor(device, "normed_mlp", t, m.hidden_size);
  mlp_rstd_ = device.allocate("mlp_rstd", DataType::f32, t);
  fc1_out_ = bf16_tensor(device, "fc1_out", t, fc1_features(m));
  activated_ = bf16_tensor(device, "activated", t, m.ffn_hidden_size);
}

View Layer::tokens_by(const Tensor& tensor) const {
  return matrix(tensor, shape_.tokens, tensor.elements / shape_.tokens);
}

View Layer::heads(const Tensor& packed, std::int64_t first_head, std::int64_t num_heads) const {
  View view = tokens_by(packed);
  view.offset = first_head * shape_.model.head_size();
  view.cols = num_heads * shape_.model.head_size();
  return view;
}

void Layer::forward(const Enqueue& outer, const Weights& weights, const LayerScratch& scratch, const View& x,
                    const View& out) {
  static const NameId kResidual = intern("residual_add");
  const Enqueue enqueue = outer.in_layer(index_);
  x_ = x;
  attention_norm_.forward(enqueue, weights, x, tokens_by(normed_attention_), flat(attention_rstd_));
  qkv_.fprop(enqueue, weights, tokens_by(normed_attention_), tokens_by(packed_qkv_));
  attention_forward(enqueue);
  proj_.fprop(enqueue, weights, tokens_by(attended_), tokens_by(scratch.projected));
  enqueue(kResidual, kernels::residual_add(x, tokens_by(scratch.projected), tokens_by(middle_)));
  mlp_norm_.forward(enqueue, weights, tokens_by(middle_), tokens_by(normed_mlp_), flat(mlp_rstd_));
  fc1_.fprop(enqueue, weights, tokens_by(normed_mlp_), tokens_by(fc1_out_));
  activation_forward(enqueue);
  fc2_.fprop(enqueue, weights, tokens_by(activated_), tokens_by(scratch.projected));
  enqueue(kResidual, kernels::residual_add(tokens_by(middle_), tokens_by(scratch.projected), out));
}

void Layer::backward(const Enqueue& outer, const Weights& weights, const LayerScratch& scratch, const View& d_out,
                     const View& d_x) {
  const Enqueue enqueue = outer.in_layer(index_);
  fc2_.dgrad(enqueue, weights, d_out, tokens_by(scratch.d_activation));
  fc2_.wgrad(enqueue, weights, d_out, tokens_by(activated_));
  activation_backward(enqueue, scratch);
  fc1_.dgrad(enqueue, weights, tokens_by(scratch.d_fc1), tokens_by(scratch.d_norm));
  fc1_.wgrad(enqueue, weights, tokens_by(scratch.d_fc1), tokens_by(normed_mlp_));
  const View d_middle = tokens_by(scratch.d_middle);
  mlp_norm_.backward(enqueue, weights,
                     {.x = tokens_by(middle_),
                      .rstd = flat(mlp_rstd_),
                      .dout = tokens_by(scratch.d_norm),
                      .residual = d_out,
                      .dx = d_middle});
  proj_.dgrad(enqueue, weights, d_middle, tokens_by(scratch.d_attention));
  proj_.wgrad(enqueue, weights, d_middle, tokens_by(attended_));
  attention_backward(enqueue, scratch);
  qkv_.dgrad(enqueue, weights, tokens_by(scratch.d_qkv), tokens_by(scratch.d_norm));
  qkv_.wgrad(enqueue, weights, tokens_by(scratch.d_qkv), tokens_by(normed_attention_));
  attention_norm_.backward(
      enqueue, weights,
      {.x = x_, .rstd = flat(attention_rstd_), .dout = tokens_by(scratch.d_norm), .residual = d_middle, .dx = d_x});
}

void Layer::attention_forward(const Enqueue& enqueue) const {
  static const NameId kPurpose = intern("attention_fprop");
  const plan::ModelConfig& m = shape_.model;
  const std::int64_t a = m.num_attention_heads;
  const std::int64_t g = m.num_query_groups;
  enqueue(kPurpose, kernels::attention_forward({.q = heads(packed_qkv_, 0, a),
                                                .k = heads(packed_qkv_, a, g),
                                                .v = heads(packed_qkv_, a + g, g),
                                                .out = tokens_by(attended_),
                                                .lse = matrix(lse_, a, shape_.tokens),
                                                .seq_length = m.seq_length,
                                                .head_size = m.head_size()}));
}

void Layer::attention_backward(const Enqueue& enqueue, const LayerScratch& scratch) const {
  static const NameId kPurpose = intern("attention_dgrad");
  const plan::ModelConfig& m = shape_.model;
  const std::int64_t a = m.num_attention_heads;
  const std::int64_t g = m.num_query_groups;
  enqueue(kPurpose, kernels::attention_backward({.q = heads(packed_qkv_, 0, a),
                                                 .k = heads(packed_qkv_, a, g),
                                                 .v = heads(packed_qkv_, a + g, g),
                                                 .out = tokens_by(attended_),
                                                 .lse = matrix(lse_, a, shape_.tokens),
                                                 .dout = tokens_by(scratch.d_attention),
                                                 .dq = heads(scratch.d_qkv, 0, a),
                                                 .dk = heads(scratch.d_qkv, a, g),
                                                 .dv = heads(scratch.d_qkv, a + g, g),
                                                 .seq_length = m.seq_length,
                                                 .head_size = m.head_size()}));
}

void Layer::activation_forward(const Enqueue& enqueue) const {
  static const NameId kPurpose = intern("activation_fprop");
  const View x = tokens_by(fc1_out_);
  const View out = tokens_by(activated_);
  switch (shape_.model.activation) {
    case plan::Activation::swiglu: return enqueue(kPurpose, kernels::swiglu_forward(x, out));
    case plan::Activation::gelu: return enqueue(kPurpose, kernels::gelu_forward(x, out));
    case plan::Activation::squared_relu: return enqueue(kPurpose, kernels::squared_relu_forward(x, out));
  }
}

void Layer::activation_backward(const Enqueue& enqueue, const LayerScratch& scratch) const {
  static const NameId kPurpose = intern("activation_dgrad");
  const View x = tokens_by(fc1_out_);
  const View dout = tokens_by(scratch.d_activation);
  const View dx = tokens_by(scratch.d_fc1);
  switch (shape_.model.activation) {
    case plan::Activation::swiglu: return enqueue(kPurpose, kernels::swiglu_backward(x, dout, dx));
    case plan::Activation::gelu: return enqueue(kPurpose, kernels::gelu_backward(x, dout, dx));
    case plan::Activation::squared_relu: return enqueue(kPurpose, kernels::squared_relu_backward(x, dout, dx));
  }
}

}  // namespace underlap::model
