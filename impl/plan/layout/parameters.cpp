// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/precision.hpp"

namespace underlap::plan {
namespace {

/// Neighboring rows of a whole weight.
struct Rows {
  std::int64_t first = 0;
  std::int64_t num = 0;
};

/// Lists a model's weights with the part of each that one rank holds.
class Parts {
 public:
  Parts(ModelParameters& result, TensorRank tensor) : result_(result), tensor_(tensor) {}

  std::int32_t num_ranks() const { return tensor_.size; }

  std::int32_t whole(std::string name, std::int64_t rows, std::int64_t cols, std::int32_t layer) {
    const std::int32_t index = add(std::move(name), rows, cols, layer, {{0, rows, cols, 0}});
    result_.all.back().is_replicated = tensor_.size > 1;
    return index;
  }

  /// This rank's rows of each of some matrices that lie one below the other, each of `rows` rows.
  std::int32_t by_rows(std::string name, std::initializer_list<std::int64_t> rows, std::int64_t cols,
                       std::int32_t layer) {
    std::vector<WeightBlock> blocks;
    std::int64_t row = 0, above = 0;
    for (const std::int64_t whole : rows) {
      const std::int64_t part = whole / tensor_.size;
      blocks.push_back({row, part, cols, (above + tensor_.index * part) * cols});
      row += part;
      above += whole;
    }
    return add(std::move(name), row, cols, layer, std::move(blocks));
  }

  /// This rank's rows of a matrix whose rows are put in another order before they are cut: range after range.
  std::int32_t by_reordered_rows(std::string name, const std::vector<Rows>& order, std::int64_t cols,
                                 std::int32_t layer) {
    std::int64_t whole = 0, above = 0;
    for (const Rows& range : order) whole += range.num;
    const std::int64_t part = whole / tensor_.size, begin = tensor_.index * part;
    std::vector<WeightBlock> blocks;
    for (const Rows& range : order) {
      const std::int64_t from = std::max(begin, above), to = std::min(begin + part, above + range.num);
      if (from < to) blocks.push_back({from - begin, to - from, cols, (range.first + from - above) * cols});
      above += range.num;
    }
    return add(std::move(name), part, cols, layer, std::move(blocks));
  }

  std::int32_t by_columns(std::string name, std::int64_t rows, std::int64_t cols, std::int32_t layer) {
    const std::int64_t part = cols / tensor_.size;
    return add(std::move(name), rows, part, layer, {{0, rows, cols, tensor_.index * part}});
  }

 private:
  std::int32_t add(std::string name, std::int64_t rows, std::int64_t cols, std::int32_t layer,
                   std::vector<WeightBlock> blocks) {
    const auto index = static_cast<std::int32_t>(result_.all.size());
    result_.all.push_back({.name = std::move(name), .rows = rows, .cols = cols, .layer = layer});
    result_.blocks.push_back(std::move(blocks));
    return index;
  }

  ModelParameters& result_;
  TensorRank tensor_;
};

/// The rows of qkv, which are all queries, then keys, then values, key head by key head.
std::vector<Rows> by_group(std::int64_t attention, std::int64_t keys, std::int64_t groups) {
  std::vector<Rows> order;
  const std::int64_t queries = attention / groups, head = keys / groups;
  for (std::int64_t g = 0; g < groups; ++g)
    order.insert(order.end(),
                 {{g * queries, queries}, {attention + g * head, head}, {attention + keys + g * head, head}});
  return order;
}

/// Weights of one layer, as Megatron Core's SelfAttention and MLP register them.
void add_layer(Parts& parts, const ModelConfig& model, std::int32_t i, LayerParameters& layer) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t f = model.ffn_hidden_size;
  const std::int64_t attention = model.num_attention_heads * model.head_size();
  const std::int64_t keys = model.num_query_groups * model.head_size();
  const bool gated = model.activation == Activation::swiglu;
  const std::string prefix = fmt::format("layer{}.", i);
  const auto norm_bias = [&](const char* name) {
    return model.normalization == Normalization::layer_norm ? parts.whole(prefix + name, 1, h, i) : -1;
  };
  const auto row_bias = [&](const char* name) {
    return model.add_bias_linear ? parts.whole(prefix + name, 1, h, i) : -1;
  };
  const auto column_bias = [&](const char* name, std::int64_t features, bool exists) {
    return exists ? parts.by_columns(prefix + name, 1, features, i) : -1;
  };
  layer.proj = parts.by_columns(prefix + "proj", h, attention, i);
  layer.proj_bias = row_bias("proj_bias");
  layer.attention_norm = parts.whole(prefix + "attention_norm", 1, h, i);
  layer.attention_norm_bias = norm_bias("attention_norm_bias");
  layer.qkv = parts.num_ranks() > model.num_query_groups
                  ? parts.by_reordered_rows(prefix + "qkv", by_group(attention, keys, model.num_query_groups), h, i)
                  : parts.by_rows(prefix + "qkv", {attention, keys, keys}, h, i);
  layer.qkv_bias = column_bias("qkv_bias", attention + 2 * keys, model.has_qkv_bias());
  layer.mlp_norm = parts.whole(prefix + "mlp_norm", 1, h, i);
  layer.mlp_norm_bias = norm_bias("mlp_norm_bias");
  layer.fc1 = gated ? parts.by_rows(prefix + "fc1", {f, f}, h, i) : parts.by_rows(prefix + "fc1", {f}, h, i);
  layer.fc1_bias = column_bias("fc1_bias", gated ? 2 * f : f, model.add_bias_linear);
  layer.fc2 = parts.by_columns(prefix + "fc2", h, f, i);
  layer.fc2_bias = row_bias("fc2_bias");
}

/// Numbers the weights of a range by their place in the whole model, in the order of the forward pass, then the biases.
/// So a weight has the same initial values for any other contents and any split of the model.
void number_layers(ModelParameters& parameters, const ModelConfig& model, const LayerRange& range) {
  constexpr std::int32_t kEmbeddings = 2, kOfLayer = 6;  // of weights, and as many biases
  const bool is_tied = model.share_embeddings_and_output_weights;
  const auto layers = static_cast<std::int32_t>(model.num_layers);
  const std::int32_t final_norm = kEmbeddings + layers * kOfLayer;
  const std::int32_t head = is_tied ? 0 : final_norm + 1;
  const std::int32_t biases = final_norm + (is_tied ? 1 : 2);
  const auto set = [&](std::int32_t index, std::int32_t value) {
    if (index >= 0) parameters.all[static_cast<std::size_t>(index)].number = value;
  };
  set(parameters.word_embedding, 0);
  set(parameters.position_embedding, 1);
  std::int32_t before = range.first_layer * kOfLayer;  // weights of earlier layers
  for (const LayerParameters& l : parameters.layers) {
    std::int32_t weight = kEmbeddings + before, bias = biases + before;
    for (const std::int32_t index : {l.attention_norm, l.qkv, l.proj, l.mlp_norm, l.fc1, l.fc2}) set(index, weight++);
    for (const std::int32_t index :
         {l.attention_norm_bias, l.qkv_bias, l.proj_bias, l.mlp_norm_bias, l.fc1_bias, l.fc2_bias})
      set(index, bias++);
    before += kOfLayer;
  }
  set(parameters.final_norm, final_norm);
  set(parameters.head, head);
  set(parameters.final_norm_bias, biases + layers * kOfLayer);
}

/// An embedding that is the head too, or has a copy there.
void mark_tied(ModelParameters& parameters, const LayerRange& range) {
  const auto at = [&](std::int32_t index) -> Parameter& { return parameters.all[static_cast<std::size_t>(index)]; };
  if (range.is_whole()) {
    at(parameters.word_embedding).num_wgrads = 2;
  } else if (range.has_embedding) {
    at(parameters.word_embedding).shared_embedding = true;
  } else if (range.has_head) {
    at(parameters.head).is_copy = at(parameters.head).shared_embedding = true;
  }
}

}  // namespace

bool uploads_positions(const Config& config) {
  return ranks_sharing(Shared::tokens, config.parallel) > 1 &&
         config.model.position_embedding_type == PositionEmbedding::learned_absolute;
}

ModelParameters list_parameters(const ModelConfig& model, TensorRank tensor) {
  return list_parameters(model, tensor, {.num_layers = static_cast<std::int32_t>(model.num_layers)});
}

ModelParameters list_parameters(const ModelConfig& model, TensorRank tensor, const LayerRange& range) {
  ModelParameters result;
  Parts parts(result, tensor);
  const std::int64_t h = model.hidden_size;
  const bool is_tied = model.share_embeddings_and_output_weights;
  const auto vocabulary = [&](const char* name) { return parts.by_rows(name, {model.vocab_size}, h, -1); };
  if (range.has_embedding) {
    result.word_embedding = vocabulary("word_embedding");
    if (model.position_embedding_type == PositionEmbedding::learned_absolute)
      result.position_embedding = parts.whole("position_embedding", model.seq_length, h, -1);
  }
  for (std::int32_t i = 0; i < range.num_layers; ++i)
    add_layer(parts, model, range.first_layer + i, result.layers.emplace_back());
  if (range.has_head) {
    result.final_norm = parts.whole("final_norm", 1, h, -1);
    if (model.normalization == Normalization::layer_norm)
      result.final_norm_bias = parts.whole("final_norm_bias", 1, h, -1);
    result.head =
        is_tied && range.has_embedding ? result.word_embedding : vocabulary(is_tied ? "word_embedding" : "head");
  }
  if (is_tied) mark_tied(result, range);
  number_layers(result, model, range);
  return result;
}

void mark_fp8_weights(ModelParameters& parameters, const Config& config) {
  if (!gathers_fp8_weights(config)) return;
  for (const LayerParameters& layer : parameters.layers)
    for (const std::int32_t p : {layer.qkv, layer.proj, layer.fc1, layer.fc2}) {
      Parameter& weight = parameters.all[static_cast<std::size_t>(p)];
      weight.is_fp8 = multiplies_in_fp8(config, weight.layer);
    }
}

}  // namespace underlap::plan
