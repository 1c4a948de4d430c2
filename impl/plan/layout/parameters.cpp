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
    result_.all.push_back({.name = std::move(name), .rows = rows, .cols = cols, .layer = layer, .number = index});
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

void add_layer(Parts& parts, const ModelConfig& model, std::int32_t i, LayerParameters& layer) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t f = model.ffn_hidden_size;
  const std::int64_t attention = model.num_attention_heads * model.head_size();
  const std::int64_t keys = model.num_query_groups * model.head_size();
  const std::string prefix = fmt::format("layer{}.", i);
  layer.attention_norm = parts.whole(prefix + "attention_norm", 1, h, i);
  layer.qkv = parts.num_ranks() > model.num_query_groups
                  ? parts.by_reordered_rows(prefix + "qkv", by_group(attention, keys, model.num_query_groups), h, i)
                  : parts.by_rows(prefix + "qkv", {attention, keys, keys}, h, i);
  layer.proj = parts.by_columns(prefix + "proj", h, attention, i);
  layer.mlp_norm = parts.whole(prefix + "mlp_norm", 1, h, i);
  const bool gated = model.activation == Activation::swiglu;
  layer.fc1 = gated ? parts.by_rows(prefix + "fc1", {f, f}, h, i) : parts.by_rows(prefix + "fc1", {f}, h, i);
  layer.fc2 = parts.by_columns(prefix + "fc2", h, f, i);
}

/// Copies weights of a whole model into the list of a range.
class Cut {
 public:
  explicit Cut(const ModelParameters& whole) : whole_(whole) {}

  std::int32_t take(std::int32_t index) {
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
  result.position_embedding = parts.whole("position_embedding", model.seq_length, h, -1);
  for (std::int32_t i = 0; i < model.num_layers; ++i) add_layer(parts, model, i, result.layers.emplace_back());
  result.final_norm = parts.whole("final_norm", 1, h, -1);
  if (!model.share_embeddings_and_output_weights) {
    result.head = parts.by_rows("head", {model.vocab_size}, h, -1);
    return result;
  }
  result.head = result.word_embedding;
  Parameter& tied = result.all[static_cast<std::size_t>(result.word_embedding)];
  tied.num_wgrads = 2;
  tied.shared_embedding = true;
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
  }
  for (std::int32_t i = 0; i < range.num_layers; ++i) {
    const LayerParameters& layer = whole.layers[static_cast<std::size_t>(range.first_layer + i)];
    result.layers.push_back({.attention_norm = cut.take(layer.attention_norm),
                             .qkv = cut.take(layer.qkv),
                             .proj = cut.take(layer.proj),
                             .mlp_norm = cut.take(layer.mlp_norm),
                             .fc1 = cut.take(layer.fc1),
                             .fc2 = cut.take(layer.fc2)});
  }
  if (range.has_head) {
    result.final_norm = cut.take(whole.final_norm);
    result.head = cut.take(whole.head);
    cut.at(result.head).num_wgrads = 1;
    cut.at(result.head).is_copy = whole.head == whole.word_embedding;
  }
  return result;
}

}  // namespace underlap::plan
