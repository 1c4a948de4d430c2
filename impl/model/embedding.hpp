// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/model/shape.hpp"
#include "impl/model/weights.hpp"
#include "impl/tp/communicators.hpp"
#include "kernels/embedding/embedding.hpp"

namespace underlap::model {

/// The part of a vocabulary that the rank of `shape` holds; alone, all of it.
kernels::VocabShard vocab_shard(const Shape& shape, std::int64_t vocab_size);

/// Token and perhaps position embedding, the start of a model.
///
/// In a tensor-parallel group it is split by vocabulary. Its reduce-scatter is waited for, and so is the gather in
/// backward that gives every rank the gradients of all tokens. Without sequence parallelism there is an all-reduce
/// instead, and no communication in backward. Source: Megatron Core's VocabParallelEmbedding.
class Embedding {
 public:
  /// Allocates on the device of `communicators`. `shape` outlives this.
  Embedding(tp::Communicators& communicators, const Shape& shape, const plan::Config& config,
            const plan::ModelParameters& parameters);

  /// out [T/n, H] bf16.
  void forward(const Enqueue& enqueue, const Weights& weights, const kernels::EmbeddedTokens& tokens,
               const View& out) const;
  /// d_out [T/n, H] bf16; adds to the main gradients.
  void backward(const Enqueue& enqueue, const Weights& weights, const kernels::EmbeddedTokens& tokens,
                const View& d_out) const;

 private:
  bool is_alone() const { return shape_.tensor.size == 1; }
  View of_all_tokens() const { return matrix(embedded_, shape_.tokens, shape_.hidden); }

  const Shape& shape_;
  std::int64_t vocab_size_;
  std::int32_t word_;
  std::int32_t position_;
  tp::Collectives collectives_;
  Tensor embedded_;  // [T, H], where tokens are cut: what this rank's part of the vocabulary embeds, in backward the
                     // gathered gradient
};

}  // namespace underlap::model
