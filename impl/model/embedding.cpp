// SPDX-License-Identifier: Apache-2.0
#include "impl/model/embedding.hpp"

#include "impl/plan/config.hpp"

namespace underlap::model {

kernels::VocabShard vocab_shard(const Shape& shape, std::int64_t vocab_size) {
  if (shape.tensor.size == 1) return {};
  return {.first = shape.tensor.index * shape.vocab, .vocab_size = vocab_size};
}

Embedding::Embedding(tp::Communicators& communicators, const Shape& shape, const plan::Config& config,
                     const plan::ModelParameters& parameters)
    : shape_(shape),
      vocab_size_(config.model.vocab_size),
      word_(parameters.word_embedding),
      position_(parameters.position_embedding),
      collectives_(communicators) {
  if (shape.cuts_tokens())
    embedded_ = communicators.device().allocate("embedded", DataType::bf16, shape.tokens * shape.hidden);
}

// Each rank embeds the tokens of its part of the vocabulary and leaves the others zero: their sum is exact.
void Embedding::forward(const Enqueue& enqueue, const Weights& weights, const kernels::EmbeddedTokens& tokens,
                        const View& out) const {
  static const NameId kEmbedding = intern("embedding_fprop");
  static const NameId kScatter = intern("embedding_reduce_scatter");
  static const NameId kAllReduce = intern("embedding_all_reduce");
  if (position_ < 0)
    weights.before_use({word_});
  else
    weights.before_use({word_, position_});
  const View part = shape_.cuts_tokens() ? of_all_tokens() : out;
  enqueue(kEmbedding,
          kernels::embedding_forward(tokens, weights.weight(word_), position_ < 0 ? View{} : weights.weight(position_),
                                     part, vocab_shard(shape_, vocab_size_)));
  if (is_alone()) return;
  if (shape_.cuts_tokens())
    collectives_.reduce_scatter(enqueue.tag, kScatter, part, out);
  else
    collectives_.all_reduce(enqueue.tag, kAllReduce, out);
}

void Embedding::backward(const Enqueue& enqueue, const Weights& weights, const kernels::EmbeddedTokens& tokens,
                         const View& d_out) const {
  static const NameId kGather = intern("embedding_all_gather");
  static const NameId kEmbedding = intern("embedding_wgrad");
  if (shape_.cuts_tokens()) collectives_.all_gather(enqueue.tag, kGather, d_out, of_all_tokens());
  enqueue(kEmbedding, kernels::embedding_wgrad(
                          tokens, shape_.cuts_tokens() ? of_all_tokens() : d_out, weights.main_grad(word_),
                          position_ < 0 ? View{} : weights.main_grad(position_), vocab_shard(shape_, vocab_size_)));
  if (position_ < 0)
    weights.after_wgrad({word_});
  else
    weights.after_wgrad({position_, word_});
}

}  // namespace underlap::model
