// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/plan/layout/layer_range.hpp"
#include "impl/plan/layout/parameter.hpp"

namespace underlap::plan {

struct ModelConfig;

/// This rank's place in the group that shares a layer: n ranks, each with 1/n of the heads, the feed-forward features
/// and the vocabulary. With sequence parallelism each also has 1/n of the tokens between layers.
struct TensorRank {
  std::int32_t size = 1;
  std::int32_t index = 0;
};

/// Indices of one layer's weights. Shapes are [out features, in features] of this rank's part; model::Shape defines the
/// letters.
struct LayerParameters {
  std::int32_t attention_norm = 0;  ///< [1, H]
  std::int32_t qkv = 0;       ///< [(A + 2 G) D, H]: all queries, then keys, then values; see model::SharedGroups where
                              ///< several ranks share a key and value head
  std::int32_t proj = 0;      ///< [H, A D]
  std::int32_t mlp_norm = 0;  ///< [1, H]
  std::int32_t fc1 = 0;       ///< [2 F, H] with SwiGLU (gate, then up), else [F, H]
  std::int32_t fc2 = 0;       ///< [H, F]
  /// Biases of LayerNorm and of linear layers; -1 if there is none. [1, out features].
  std::int32_t attention_norm_bias = -1, qkv_bias = -1, proj_bias = -1, mlp_norm_bias = -1, fc1_bias = -1,
               fc2_bias = -1;
};

/// Rows of this rank's part of a weight, and their position in the whole weight.
struct WeightBlock {
  std::int64_t row = 0;         ///< first row of the part
  std::int64_t rows = 0;        ///< rows of the block
  std::int64_t whole_cols = 0;  ///< columns of the whole weight
  std::int64_t first = 0;       ///< element of the whole weight at (row, 0) of the part, counted row-major
};

/// The weights of a range of a model on one rank, in the order in which Megatron Core registers them: the order of the
/// forward pass, except that proj comes before qkv and its norm. An index of a missing weight is -1.
struct ModelParameters {
  std::vector<Parameter> all;
  std::vector<std::vector<WeightBlock>> blocks;  ///< by parameter: its rows from the first to the last
  std::int32_t word_embedding = -1;              ///< [V, H]
  std::int32_t position_embedding = -1;          ///< [S, H], the same on every rank; -1 also without learned positions
  std::vector<LayerParameters> layers;
  std::int32_t final_norm = -1;  ///< [1, H], the same on every rank, as are the other norms
  std::int32_t final_norm_bias = -1;
  std::int32_t head = -1;  ///< [V, H]; the word embedding itself if it is tied and in the same range
};

/// The part of each weight that a rank of a tensor-parallel group holds: rows of qkv and fc1 (of each of their parts),
/// columns of proj and fc2, rows of the embedding and the head. Norms and positions are not split.
/// Source: Shoeybi et al. 2019, section 3.
ModelParameters list_parameters(const ModelConfig& model, TensorRank tensor = {});

/// Marks the weights that are stored and gathered in fp8.
void mark_fp8_weights(ModelParameters& parameters, const Config& config);

/// Whether a rank needs the positions of its tokens: it holds parts of sequences, and positions come from a table.
bool uploads_positions(const Config& config);

/// The same for a range alone. A tied head in another range than the embedding is a copy of it.
ModelParameters list_parameters(const ModelConfig& model, TensorRank tensor, const LayerRange& range);

}  // namespace underlap::plan
