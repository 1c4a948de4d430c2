// SPDX-License-Identifier: Apache-2.0
//
// Forward copies rows and adds. Backward has to add the rows of dout that belong to one row of a table, in token order
// and in fp32. Tokens are sorted by id, equal ones by their place in the batch. Each run is summed in scratch memory
// and added to its row once. So a table in bf16 is rounded once a row, and not once a token.
#include "kernels/embedding/embedding.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

bool holds(const BoundView& table, std::int64_t row) { return row >= 0 && row < table.rows; }

/// The positions of an operation that was given them, as its last use, else nullptr.
const std::int32_t* positions_of(const Arguments& views) {
  return views.size() > 4 ? views[4].as<std::int32_t>() : nullptr;
}

/// Tokens, two matrices, and only then a table of positions, where there is one.
bool has_table(const Arguments& views) { return views.size() > 3; }

void copy_rows(const BoundView& word, const BoundView& out, const std::int32_t* tokens, const VocabShard& shard) {
  for (std::int64_t t = 0; t < out.rows; ++t) {
    require_index("embedding_forward", "token", tokens[t], t, shard.vocab_size);
    const std::int64_t row = tokens[t] - shard.first;
    if (holds(word, row))
      std::copy_n(word.row<bf16>(row), out.cols, out.row<bf16>(t));
    else
      std::fill_n(out.row<bf16>(t), out.cols, bf16(0.0F));
  }
}

void forward_cpu(const Arguments& views) {
  const BoundView &word = views[1], &out = views[2];
  const auto shard = views.parameters<VocabShard>();
  const std::int32_t* const tokens = views[0].as<std::int32_t>();
  if (!has_table(views)) return copy_rows(word, out, tokens, shard);
  const BoundView& position = views[3];
  const std::int32_t* const positions = positions_of(views);
  for (std::int64_t t = 0; t < out.rows; ++t) {
    require_index("embedding_forward", "token", tokens[t], t, shard.vocab_size);
    if (positions != nullptr) require_index("embedding_forward", "sequence position", positions[t], t, position.rows);
    bf16* const to = out.row<bf16>(t);
    const std::int64_t row = tokens[t] - shard.first;
    if (!holds(word, row)) {
      std::fill_n(to, out.cols, bf16(0.0F));
      continue;
    }
    const bf16* const a = word.row<bf16>(row);
    const bf16* const b = position.row<bf16>(positions == nullptr ? t % position.rows : positions[t]);
    for (std::int64_t h = 0; h < out.cols; ++h) to[h] = bf16(static_cast<float>(a[h]) + static_cast<float>(b[h]));
  }
}

/// total[h] += from[h].
void add_row(float* total, const bf16* from, std::int64_t hidden) {
  for (std::int64_t h = 0; h < hidden; ++h) total[h] += static_cast<float>(from[h]);
}

void add_to_row(const BoundView& gradient, std::int64_t r, const float* total) {
  with_float_type(gradient.dtype, [&]<class T>(T*) { add_to(gradient.row<T>(r), total, gradient.cols); });
}

/// Places of equal ids side by side, in rising order.
std::vector<std::int64_t>& sort_by_id(const std::int32_t* ids, std::int64_t n) {
  thread_local std::vector<std::int64_t> order;
  order.resize(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::sort(order, [=](std::int64_t a, std::int64_t b) { return ids[a] != ids[b] ? ids[a] < ids[b] : a < b; });
  return order;
}

/// table[ids[t] - first] += dout[t], for the ids whose row the table holds.
void add_by_id(const std::int32_t* ids, const BoundView& dout, const BoundView& table, std::int64_t first,
               float* total) {
  const std::vector<std::int64_t>& order = sort_by_id(ids, dout.rows);
  for (std::size_t i = 0; i < order.size();) {
    const std::int32_t id = ids[order[i]];
    const bool is_held = holds(table, id - first);
    std::fill_n(total, dout.cols, 0.0F);
    for (; i < order.size() && ids[order[i]] == id; ++i) {
      if (is_held) add_row(total, dout.row<bf16>(order[i]), dout.cols);
    }
    if (is_held) add_to_row(table, id - first, total);
  }
}

/// Of whole sequences: table[t % S] += dout[t].
void add_in_turn(const BoundView& dout, const BoundView& dposition, float* total) {
  for (std::int64_t s = 0; s < dposition.rows; ++s) {
    std::fill_n(total, dout.cols, 0.0F);
    for (std::int64_t t = s; t < dout.rows; t += dposition.rows) add_row(total, dout.row<bf16>(t), dout.cols);
    add_to_row(dposition, s, total);
  }
}

void wgrad_cpu(const Arguments& views) {
  const BoundView &dout = views[1], &dword = views[2];
  const auto shard = views.parameters<VocabShard>();
  const std::int32_t* const tokens = views[0].as<std::int32_t>();
  const std::int32_t* const positions = positions_of(views);
  for (std::int64_t t = 0; t < dout.rows; ++t) {
    require_index("embedding_wgrad", "token", tokens[t], t, shard.vocab_size);
    if (positions != nullptr) require_index("embedding_wgrad", "sequence position", positions[t], t, views[3].rows);
  }
  Scratch scratch;
  float* const total = scratch.take(dout.cols);
  add_by_id(tokens, dout, dword, shard.first, total);
  if (!has_table(views)) return;
  if (positions == nullptr) return add_in_turn(dout, views[3], total);
  add_by_id(positions, dout, views[3], 0, total);
}

/// What a shard's tokens are of `bytes`, where tokens are spread evenly over the vocabulary.
std::int64_t share_of(std::int64_t bytes, const View& table, const VocabShard& shard) {
  if (table.elements() == 0) return 0;
  return bytes / shard.vocab_size * table.rows + bytes % shard.vocab_size * table.rows / shard.vocab_size;
}

/// Bytes of the rows of a table that `tokens` can touch.
std::int64_t touched(const View& tokens, const View& table) {
  if (table.elements() == 0) return 0;
  return std::min(tokens.cols, table.rows) * table.cols * size_of(table.tensor.dtype);
}

/// `table` is that of positions.
void require_tokens(const char* operation, const EmbeddedTokens& in, const View& table) {
  if (table.elements() == 0 && in.has_positions())
    throw std::invalid_argument(std::string(operation) + ": positions without a position table");
  if (table.elements() > 0 && !in.has_positions())
    require_multiple(operation, "tokens", in.tokens.cols, "sequence length", table.rows);
}

}  // namespace

Operation embedding_forward(const EmbeddedTokens& in, const View& word, const View& position, const View& out,
                            const VocabShard& shard) {
  static const NameId name = intern("embedding_forward");
  require_tokens("embedding_forward", in, position);
  const VocabShard held = checked_shard("embedding_forward", shard, word.rows);
  const std::int64_t tokens = in.tokens.cols;
  return make_operation(name, forward_cpu,
                        {.flops = static_cast<double>(out.elements()),
                         .bytes_read = in.tokens.bytes() + share_of(out.bytes(), word, held) +
                                       touched(in.tokens, position) + in.positions.bytes(),
                         .bytes_written = out.bytes()},
                        {{in.tokens, Access::in, {"tokens", 1, tokens, {DataType::i32}}},
                         {word, Access::in, {"word", word.rows, out.cols, {DataType::bf16}}},
                         {out, Access::out, {"out", tokens, out.cols, {DataType::bf16}}},
                         {position, Access::in, {"position", position.rows, out.cols, {DataType::bf16}}, true},
                         {in.positions, Access::in, {"positions", 1, tokens, {DataType::i32}}, true}})
      .with_parameters(held);
}

Operation embedding_wgrad(const EmbeddedTokens& in, const View& dout, const View& dword, const View& dposition,
                          const VocabShard& shard) {
  static const NameId name = intern("embedding_wgrad");
  require_tokens("embedding_wgrad", in, dposition);
  const VocabShard held = checked_shard("embedding_wgrad", shard, dword.rows);
  const std::int64_t tokens = in.tokens.cols, added_to = touched(in.tokens, dword) + touched(in.tokens, dposition);
  return make_operation(name, wgrad_cpu,
                        {.flops = 2 * static_cast<double>(dout.elements()),
                         .bytes_read = in.tokens.bytes() + dout.bytes() + share_of(dout.bytes(), dword, held) +
                                       added_to + in.positions.bytes(),
                         .bytes_written = added_to},
                        {{in.tokens, Access::in, {"tokens", 1, tokens, {DataType::i32}}},
                         {dout, Access::in, {"dout", tokens, dout.cols, {DataType::bf16}}},
                         {dword, Access::inout, {"dword", dword.rows, dout.cols, {DataType::f32, DataType::bf16}}},
                         {dposition,
                          Access::inout,
                          {"dposition", dposition.rows, dout.cols, {DataType::f32, DataType::bf16}},
                          true},
                         {in.positions, Access::in, {"positions", 1, tokens, {DataType::i32}}, true}})
      .with_parameters(held);
}

std::span<const KernelInfo> list_embedding() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"embedding", "embedding_forward", "out [T,H] = word[token] + position",
       "T H flops; 4 T H + 2 S H + 4 T bytes, 4 T more with positions"},
      {"embedding", "embedding_wgrad", "dword [V,H] and dposition [S,H] += dout [T,H]",
       "2 T H flops; 4 T H + 4 T bytes, min(T, V) rows of dword and dposition twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
