// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {

/// The sizes that determine a rank's memory. Doubles, because products of absurd but permitted sizes exceed 64 bits.
struct RankShape {
  double hidden, ffn, vocab, heads;
  double up;              ///< widths of fc1's output: 2 for a gated activation, else 1
  double attention;       ///< width of the queries
  double kv;              ///< width of the keys, equal to that of the values
  double tp;              ///< ranks that split a layer
  double sequence_ranks;  ///< ranks that split the activations between its products: tp with sequence parallelism, else
                          ///< 1
  double kv_of_rank;      ///< if keys have fewer heads than there are ranks, several ranks hold the same head
  double tokens;          ///< of a microbatch on this rank
  double norm_extra;      ///< bytes a token that a norm keeps besides its input and output
  double activation_extra;  ///< the same of the activation
  double norm;              ///< parameters of a norm: LayerNorm has a bias and a weight
  double positions;         ///< parameters of a table of learned positions, which each rank holds in full
  bool has_biases;          ///< the four products of a layer have one each
  bool has_qkv_bias;        ///< the first of them has one

  explicit RankShape(const Config& c)
      : hidden(double(c.model.hidden_size)),
        ffn(double(c.model.ffn_hidden_size)),
        vocab(double(c.model.vocab_size)),
        heads(double(c.model.num_attention_heads)),
        up(c.model.activation == Activation::swiglu ? 2 : 1),
        attention(heads * double(c.model.head_size())),
        kv(double(c.model.num_query_groups) * double(c.model.head_size())),
        tp(ranks_sharing(Shared::weights, c.parallel)),
        sequence_ranks(c.parallel.sequence_parallel ? tp : 1),
        kv_of_rank(kv / std::max(1.0, std::min(tp, double(c.model.num_query_groups)))),
        tokens(double(c.train.micro_batch_size) * double(c.model.seq_length) /
               ranks_sharing(Shared::tokens, c.parallel)),
        norm_extra(c.model.norm_fusion ? 0 : 8 * hidden / sequence_ranks),
        activation_extra(c.model.bias_activation_fusion ? 0 : 2 * ffn / tp),
        norm(hidden * (c.model.normalization == Normalization::layer_norm ? 2 : 1)),
        positions(c.model.position_embedding_type == PositionEmbedding::learned_absolute
                      ? hidden * double(c.model.seq_length)
                      : 0),
        has_biases(c.model.add_bias_linear),
        has_qkv_bias(c.model.has_qkv_bias()) {}

  /// Parameters of the four products of a layer.
  double linear_parameters() const { return hidden * (attention + 2 * kv + attention + (up + 1) * ffn) / tp; }
  /// Biases of the layer. Ranks split those of column-parallel products; each rank holds those of row-parallel products
  /// in full.
  double bias_parameters() const {
    return (has_qkv_bias ? (attention + 2 * kv) / tp : 0) + (has_biases ? up * ffn / tp + 2 * hidden : 0);
  }
  double layer_parameters() const { return linear_parameters() + bias_parameters() + 2 * norm; }
  /// Parameters of the embedding, and equally of the head.
  double table_parameters() const { return vocab * hidden / tp; }
};

}  // namespace underlap::plan
