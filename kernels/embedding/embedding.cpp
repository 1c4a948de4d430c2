// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

void forward_form(const Arguments& views) {
  const BoundView &word = views[1], &position = views[2], &out = views[3];
  const std::int32_t* const tokens = views[0].as<std::int32_t>();
  for (std::int64_t t = 0; t < out.rows; ++t) {
    require_index("embedding_forward", "token", tokens[t], t, word.rows);
    const bf16* const a = word.row<bf16>(tokens[t]);
    const bf16* const b = position.row<bf16>(t % position.rows);
    bf16* const to = out.row<bf16>(t);
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

/// Positions of the tokens: those of one id side by side, in rising order.
std::vector<std::int64_t>& sort_by_token(const std::int32_t* tokens, std::int64_t n) {
  thread_local std::vector<std::int64_t> order;
  order.resize(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::sort(
      order, [=](std::int64_t a, std::int64_t b) { return tokens[a] != tokens[b] ? tokens[a] < tokens[b] : a < b; });
  return order;
}

void add_word_gradient(const std::int32_t* tokens, const BoundView& dout, const BoundView& dword, float* total) {
  const std::vector<std::int64_t>& order = sort_by_token(tokens, dout.rows);
  for (std::size_t i = 0; i < order.size();) {
    const std::int32_t token = tokens[order[i]];
    std::fill_n(total, dout.cols, 0.0F);
    for (; i < order.size() && tokens[order[i]] == token; ++i) add_row(total, dout.row<bf16>(order[i]), dout.cols);
    add_to_row(dword, token, total);
  }
}

void add_position_gradient(const BoundView& dout, const BoundView& dposition, float* total) {
  for (std::int64_t s = 0; s < dposition.rows; ++s) {
    std::fill_n(total, dout.cols, 0.0F);
    for (std::int64_t t = s; t < dout.rows; t += dposition.rows) add_row(total, dout.row<bf16>(t), dout.cols);
    add_to_row(dposition, s, total);
  }
}

void wgrad_form(const Arguments& views) {
  const BoundView &dout = views[1], &dword = views[2];
  const std::int32_t* const tokens = views[0].as<std::int32_t>();
  for (std::int64_t t = 0; t < dout.rows; ++t) {
    require_index("embedding_wgrad", "token", tokens[t], t, dword.rows);
  }
  Scratch scratch;
  float* const total = scratch.take(dout.cols);
  add_word_gradient(tokens, dout, dword, total);
  add_position_gradient(dout, views[3], total);
}

}  // namespace

Operation embedding_forward(const View& tokens, const View& word, const View& position, const View& out) {
  constexpr auto kName = "embedding_forward";
  require_multiple(kName, "tokens", tokens.cols, "sequence length", position.rows);
  require(kName, tokens, {"tokens", 1, tokens.cols, {DataType::i32}});
  require(kName, word, {"word", word.rows, out.cols, {DataType::bf16}});
  require(kName, position, {"position", position.rows, out.cols, {DataType::bf16}});
  require(kName, out, {"out", tokens.cols, out.cols, {DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, forward_form,
                   {.flops = static_cast<double>(out.elements()),
                    .bytes_read = tokens.bytes() + out.bytes() + position.bytes(),
                    .bytes_written = out.bytes()},
                   {{tokens, Access::in}, {word, Access::in}, {position, Access::in}, {out, Access::out}});
}

Operation embedding_wgrad(const View& tokens, const View& dout, const View& dword, const View& dposition) {
  constexpr auto kName = "embedding_wgrad";
  require_multiple(kName, "tokens", tokens.cols, "sequence length", dposition.rows);
  require(kName, tokens, {"tokens", 1, tokens.cols, {DataType::i32}});
  require(kName, dout, {"dout", tokens.cols, dout.cols, {DataType::bf16}});
  require(kName, dword, {"dword", dword.rows, dout.cols, {DataType::f32, DataType::bf16}});
  require(kName, dposition, {"dposition", dposition.rows, dout.cols, {DataType::f32, DataType::bf16}});
  const std::int64_t touched = std::min(tokens.cols, dword.rows) * dout.cols * size_of(dword.tensor.dtype);
  static const NameId name = intern(kName);
  return Operation(name, wgrad_form,
                   {.flops = 2 * static_cast<double>(dout.elements()),
                    .bytes_read = tokens.bytes() + 2 * dout.bytes() + touched + dposition.bytes(),
                    .bytes_written = touched + dposition.bytes()},
                   {{tokens, Access::in}, {dout, Access::in}, {dword, Access::inout}, {dposition, Access::inout}});
}

std::span<const KernelInfo> list_embedding() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"embedding", "embedding_forward", "out [T,H] = word[token] + position", "T H flops; 4 T H + 2 S H + 4 T bytes"},
      {"embedding", "embedding_wgrad", "dword [V,H] and dposition [S,H] += dout [T,H]",
       "2 T H flops; 4 T H + 4 T bytes, min(T, V) rows of dword and dposition twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
