// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

namespace underlap::plan {
namespace {

/// Neighbouring rows of a whole weight.
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

/// Numbers the weights of the whole model in the order of the forward pass, biases behind them: a weight begins with
/// the same values whatever else the model has.
void number(ModelParameters& parameters) {
  std::int32_t next = 0;
  const auto take = [&](std::int32_t index) {
    if (index >= 0) parameters.all[static_cast<std::size_t>(index)].number = next;
    ++next;
  };
  take(parameters.word_embedding);
  take(parameters.position_embedding);
  for (const LayerParameters& l : parameters.layers)
    for (const std::int32_t index : {l.attention_norm, l.qkv, l.proj, l.mlp_norm, l.fc1, l.fc2}) take(index);
  take(parameters.final_norm);
  if (parameters.head != parameters.word_embedding) take(parameters.head);
  for (const LayerParameters& l : parameters.layers)
    for (const std::int32_t index :
         {l.attention_norm_bias, l.qkv_bias, l.proj_bias, l.mlp_norm_bias, l.fc1_bias, l.fc2_bias})
      take(index);
  take(parameters.final_norm_bias);
}

/// In the order of their registration.
constexpr std::int32_t LayerParameters::*kOfLayer[] = {&LayerParameters::proj,
                                                       &LayerParameters::proj_bias,
                                                       &LayerParameters::attention_norm,
                                                       &LayerParameters::attention_norm_bias,
                                                       &LayerParameters::qkv,
                                                       &LayerParameters::qkv_bias,
                                                       &LayerParameters::mlp_norm,
                                                       &LayerParameters::mlp_norm_bias,
                                                       &LayerParameters::fc1,
                                                       &LayerParameters::fc1_bias,
                                                       &LayerParameters::fc2,
                                                       &LayerParameters::fc2_bias};

/// Copies weights of a whole model into the list of a range.
class Cut {
 public:
  explicit Cut(const ModelParameters& whole) : whole_(whole) {}

  std::int32_t take(std::int32_t index) {
    if (index < 0) return -1;
    result.all.push_back(whole_.all[static_cast<std::size_t>(index)]);
    result.blocks.push_back(whole_.blocks[static_cast<std::size_t>(index)]);
    return static_cast<std::int32_t>(result.all.size() - 1);
  }

  Parameter& at(std::int32_t index) { return result.all[static_cast<std::size_t>(index)]; }

  ModelParameters result;

 private:
  const ModelParameters& whole_;
};

}  // namespace

ModelParameters list_parameters(const ModelConfig& model, TensorRank tensor) {
  ModelParameters result;
  Parts parts(result, tensor);
  const std::int64_t h = model.hidden_size;
  result.word_embedding = parts.by_rows("word_embedding", {model.vocab_size}, h, -1);
  if (model.position_embedding_type == PositionEmbedding::learned_absolute)
    result.position_embedding = parts.whole("position_embedding", model.seq_length, h, -1);
  for (std::int32_t i = 0; i < model.num_layers; ++i) add_layer(parts, model, i, result.layers.emplace_back());
  result.final_norm = parts.whole("final_norm", 1, h, -1);
  if (model.normalization == Normalization::layer_norm)
    result.final_norm_bias = parts.whole("final_norm_bias", 1, h, -1);
  const bool is_tied = model.share_embeddings_and_output_weights;
  result.head = is_tied ? result.word_embedding : parts.by_rows("head", {model.vocab_size}, h, -1);
  if (is_tied) result.all[static_cast<std::size_t>(result.word_embedding)].num_wgrads = 2;
  number(result);
  return result;
}

ModelParameters list_parameters(const ModelConfig& model, TensorRank tensor, const LayerRange& range) {
  const ModelParameters whole = list_parameters(model, tensor);
  if (range.is_whole()) return whole;
  Cut cut(whole);
  ModelParameters& result = cut.result;
  if (range.has_embedding) {
    result.word_embedding = cut.take(whole.word_embedding);
    result.position_embedding = cut.take(whole.position_embedding);
    cut.at(result.word_embedding).num_wgrads = 1;
    cut.at(result.word_embedding).shared_embedding = model.share_embeddings_and_output_weights;
  }
  for (std::int32_t i = 0; i < range.num_layers; ++i) {
    const LayerParameters& layer = whole.layers[static_cast<std::size_t>(range.first_layer + i)];
    LayerParameters& own = result.layers.emplace_back();
    for (const auto weight : kOfLayer) own.*weight = cut.take(layer.*weight);
  }
  if (range.has_head) {
    result.final_norm = cut.take(whole.final_norm);
    result.final_norm_bias = cut.take(whole.final_norm_bias);
    result.head = cut.take(whole.head);
    cut.at(result.head).num_wgrads = 1;
    cut.at(result.head).is_copy = whole.head == whole.word_embedding;
    cut.at(result.head).shared_embedding = whole.head == whole.word_embedding;
  }
  return result;
}

}  // namespace underlap::plan
