// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/config/model_config.hpp"
#include "impl/plan/layout/parameters.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::model {

/// Sizes of one microbatch on one rank. T tokens, H hidden, A heads, G key/value heads, D head size, F feed-forward, V
/// vocabulary, S sequence length; A, G, F and V are this rank's part of the whole, and so are T and S of a
/// context-parallel group.
struct Shape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int32_t group_ranks = 1;  ///< m: ranks that share one key and value head, where these are fewer than ranks
  std::int64_t head_size = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t seq_length = 0;
  std::int64_t tokens = 0;       ///< T: of the microbatch, inside attention and the MLP
  std::int64_t tokens_here = 0;  ///< T/n: between layers; without sequence parallelism T is meant by that too
  plan::Activation activation = plan::Activation::swiglu;
  plan::Normalization normalization = plan::Normalization::rms_norm;
  plan::TensorRank tensor;

  Shape(const plan::Config& config, plan::TensorRank tensor_rank);

  /// Whether the ranks of a group each hold other tokens between layers.
  bool cuts_tokens() const { return tokens_here < tokens; }
  std::int64_t attention_features() const { return heads * head_size; }
  /// Columns of queries, keys and values as attention reads them.
  std::int64_t qkv_features() const { return (heads + 2 * groups) * head_size; }
  /// Columns that qkv writes: the same, or an m-th of what m ranks read.
  std::int64_t qkv_out_features() const { return (group_ranks * heads + 2 * groups) * head_size / group_ranks; }
  /// Numbers that a norm keeps of each token for the backward pass: 1 / its deviation, and LayerNorm its mean.
  std::int64_t norm_statistics() const { return normalization == plan::Normalization::layer_norm ? 2 : 1; }
  /// Columns that fc1 writes: gate and up with SwiGLU.
  std::int64_t fc1_features() const { return activation == plan::Activation::swiglu ? 2 * ffn : ffn; }
};

}  // namespace underlap::model
