// SPDX-License-Identifier: Apache-2.0
#include "impl/model/transformer.hpp"

#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"

namespace underlap::model {
namespace {

Shape shape_of(const plan::Config& config) {
  return {.model = config.model, .tokens = config.train.micro_batch_size * config.model.seq_length};
}

}  // namespace

Transformer::Transformer(Device& device, const plan::Config& config, const ModelParameters& parameters)
    : shape_(shape_of(config)),
      loss_scale_(1.0 / static_cast<double>(shape_.tokens * config.train.num_microbatches)),
      parameters_(parameters),
      scratch_(device, shape_),
      final_norm_("final_norm", parameters.final_norm),
      head_("head", parameters.head) {
  const std::int64_t t = shape_.tokens;
  const std::int64_t h = config.model.hidden_size;
  tokens_ = device.allocate("tokens", DataType::i32, 2 * t);
  for (std::size_t i = 0; i < parameters.layers.size(); ++i) {
    activations_.push_back(device.allocate("activations", DataType::bf16, t * h));
    layers_.emplace_back(device, shape_, parameters.layers[i], static_cast<std::int32_t>(i));
  }
  activations_.push_back(device.allocate("activations", DataType::bf16, t * h));
  normed_ = device.allocate("normed", DataType::bf16, t * h);
  rstd_ = device.allocate("rstd", DataType::f32, t);
  logits_ = device.allocate("logits", DataType::bf16, t * config.model.vocab_size);
  lse_ = device.allocate("loss_lse", DataType::f32, t);
  d_logits_ = device.allocate("d_logits", DataType::bf16, t * config.model.vocab_size);
  d_hidden_ = device.allocate("d_hidden", DataType::bf16, t * h);
}

View Transformer::tokens_by(const Tensor& tensor) const {
  return matrix(tensor, shape_.tokens, tensor.elements / shape_.tokens);
}

void Transformer::forward(const Enqueue& outer, const Weights& weights, std::span<const std::int32_t> tokens,
                          const View& loss) {
  static const NameId kTokens = intern("tokens");
  static const NameId kEmbedding = intern("embedding_fprop");
  static const NameId kLoss = intern("loss_fprop");
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::forward;
  Tag copy = enqueue.tag;
  copy.kind = Kind::copy;
  copy.purpose = kTokens;
  enqueue.device->upload(enqueue.stream, copy, flat(tokens_), std::as_bytes(tokens));
  weights.before_use({parameters_.word_embedding, parameters_.position_embedding});
  enqueue(kEmbedding,
          kernels::embedding_forward(flat(tokens_, 0, shape_.tokens), weights.weight(parameters_.word_embedding),
                                     weights.weight(parameters_.position_embedding), activations(0)));
  for (std::size_t i = 0; i < layers_.size(); ++i)
    layers_[i].forward(enqueue, weights, scratch_, activations(i), activations(i + 1));
  final_norm_.forward(enqueue, weights, activations(layers_.size()), tokens_by(normed_), flat(rstd_));
  head_.fprop(enqueue, weights, tokens_by(normed_), tokens_by(logits_));
  enqueue(kLoss, kernels::cross_entropy_forward(tokens_by(logits_), flat(tokens_, shape_.tokens, shape_.tokens),
                                                flat(lse_), loss, loss_scale_));
}

void Transformer::backward(const Enqueue& outer, const Weights& weights) {
  static const NameId kLoss = intern("loss_dgrad");
  static const NameId kEmbedding = intern("embedding_wgrad");
  static const NameId kZero = intern("zero_residual");
  Enqueue enqueue = outer;
  enqueue.tag.direction = Direction::backward;
  enqueue(kLoss, kernels::cross_entropy_backward(tokens_by(logits_), flat(tokens_, shape_.tokens, shape_.tokens),
                                                 flat(lse_), tokens_by(d_logits_), loss_scale_));
  head_.dgrad(enqueue, weights, tokens_by(d_logits_), tokens_by(scratch_.d_norm));
  head_.wgrad(enqueue, weights, tokens_by(d_logits_), tokens_by(normed_));
  // Nothing passes the final norm by: its residual is zero.
  enqueue(kZero, kernels::fill(tokens_by(scratch_.d_middle), 0));
  final_norm_.backward(enqueue, weights,
                       {.x = activations(layers_.size()),
                        .rstd = flat(rstd_),
                        .dout = tokens_by(scratch_.d_norm),
                        .residual = tokens_by(scratch_.d_middle),
                        .dx = tokens_by(d_hidden_)});
  for (std::size_t i = layers_.size(); i-- > 0;)
    layers_[i].backward(enqueue, weights, scratch_, tokens_by(d_hidden_), tokens_by(d_hidden_));
  enqueue(kEmbedding, kernels::embedding_wgrad(flat(tokens_, 0, shape_.tokens), tokens_by(d_hidden_),
                                               weights.main_grad(parameters_.word_embedding),
                                               weights.main_grad(parameters_.position_embedding)));
  weights.after_wgrad({parameters_.position_embedding, parameters_.word_embedding});
}

}  // namespace underlap::model
