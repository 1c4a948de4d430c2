// SPDX-License-Identifier: Apache-2.0
//
// Attention in fp32 block products (block_product.hpp). For each sequence and key/value head, keys and values are
// widened to fp32 once; then queries go in blocks of rows, each against the keys up to the end of its block, so that
// most of the causal triangle is never computed:
//
//             keys
//   queries | P P . . |   P: the product is formed, and masked on the diagonal
//           | P P P . |   .: never touched
//
// A tile with more keys than queries has its diagonal end in the same corner; one that is not causal has none.
//
//              products of a block       row by row, masked                  products of a block
//   forward    S = Q K^T                 P = exp(S - max), lse               O = P V, divided by the sums of P
//   backward   S = Q K^T, dP = dO V^T    P = exp(S - lse), dS = P (dP - d)   dV += P^T dO, dK += dS^T Q, dQ = dS K
//
// Rows of scores are held whole, so a row's maximum is known before its first exponential: the plain softmax, not the
// one that grows tile by tile. d (delta) is the inner product of a row of out with that of dout, the sum of P dP.
// Source: Vaswani et al. 2017; Dao et al. 2022, algorithm 4, for the backward pass from lse.
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_parameters.hpp"
#include "kernels/attention/block_product.hpp"
#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

// Four times the row tile of a block product. Fewer rows waste less beyond the diagonal, more reread keys less often.
constexpr std::int64_t kQueryRows = 24;

using Parameters = AttentionParameters;

std::int64_t padded(std::int64_t n) { return (n + kBlockColumns - 1) / kBlockColumns * kBlockColumns; }

/// The sizes of one call.
struct Sizes {
  std::int64_t seq_length, kv_length, head_size, padded_keys, padded_head, sequences, heads, groups;
  bool causal;
  float scale;

  Sizes(const Parameters& p, const BoundView& q, const BoundView& k)
      : seq_length(p.seq_length),
        kv_length(p.kv_length),
        head_size(p.head_size),
        padded_keys(padded(p.kv_length)),
        padded_head(padded(p.head_size)),
        sequences(q.rows / p.seq_length),
        heads(q.cols / p.head_size),
        groups(k.cols / p.head_size),
        causal(p.causal),
        scale(1.0F / std::sqrt(static_cast<float>(p.head_size))) {}

  /// How many keys the query at that position of its sequence sees: the first so many.
  std::int64_t keys_of(std::int64_t query) const { return causal ? query + 1 + kv_length - seq_length : kv_length; }
};

/// Rows [first, first + rows) of one head's columns of an activation.
struct HeadRows {
  const BoundView& view;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t width = 0;

  bf16* row(std::int64_t r) const { return view.row<bf16>(first + r) + column; }
};

/// Widens to rows `row_length` apart; columns past the head's are zero.
void load_rows(const HeadRows& from, float* to, std::int64_t row_length, float factor = 1.0F) {
  for (std::int64_t r = 0; r < from.rows; ++r, to += row_length) {
    widen(from.row(r), to, from.width, factor);
    std::fill(to + from.width, to + row_length, 0.0F);
  }
}

/// Widens to one row per column of the head, `row_length` apart; columns past the sequence are zero.
void load_transposed(const HeadRows& from, float* to, std::int64_t row_length) {
  for (std::int64_t r = 0; r < from.rows; ++r) {
    const bf16* const row = from.row(r);
    for (std::int64_t d = 0; d < from.width; ++d) to[d * row_length + r] = static_cast<float>(row[d]);
  }
  for (std::int64_t d = 0; d < from.width; ++d) {
    std::fill(to + d * row_length + from.rows, to + (d + 1) * row_length, 0.0F);
  }
}

void store_rows(const float* from, std::int64_t row_length, const HeadRows& to, float factor = 1.0F) {
  for (std::int64_t r = 0; r < to.rows; ++r, from += row_length) narrow(from, to.row(r), to.width, factor);
}

/// A block of queries of one head: what is at which row, and how many keys it can see.
struct QueryBlock {
  std::int64_t first = 0;  ///< position of the first query in its sequence
  std::int64_t rows = 0;
  std::int64_t keys = 0;         ///< the last query's
  std::int64_t padded_keys = 0;  ///< columns of the product; those of keys that a query does not see are set to 0
};

/// Calls f for each block of queries of a sequence.
template <class F>
void for_each_block(const Sizes& s, F f) {
  for (std::int64_t first = 0; first < s.seq_length; first += kQueryRows) {
    const std::int64_t end = std::min(first + kQueryRows, s.seq_length);
    const std::int64_t keys = s.keys_of(end - 1);
    f(QueryBlock{.first = first, .rows = end - first, .keys = keys, .padded_keys = padded(keys)});
  }
}

/// The scratch of a forward call. Keys lie transposed: a product takes its second operand by rows, in whole vectors.
struct ForwardBuffers {
  float *q, *keys_t, *values, *p, *out;

  ForwardBuffers(const Sizes& s, Scratch& scratch)
      : q(scratch.take(kQueryRows * s.padded_head)),
        keys_t(scratch.take(s.head_size * s.padded_keys)),
        values(scratch.take(s.kv_length * s.padded_head)),
        p(scratch.take(kQueryRows * s.padded_keys)),
        out(scratch.take(kQueryRows * s.padded_head)) {}
};

/// scores = q k^T, rows padded_keys apart.
void multiply_by_keys(const float* q, const float* keys_t, float* scores, const QueryBlock& block, const Sizes& s) {
  multiply({.a = q,
            .a_row = s.padded_head,
            .a_col = 1,
            .b = keys_t,
            .b_row = s.padded_keys,
            .c = scores,
            .c_row = s.padded_keys,
            .m = block.rows,
            .n = block.padded_keys,
            .k = s.head_size});
}

/// out = p times rows of keys or values.
void multiply_by_rows(const float* p, const float* rows, float* out, const QueryBlock& block, const Sizes& s) {
  multiply({.a = p,
            .a_row = s.padded_keys,
            .a_col = 1,
            .b = rows,
            .b_row = s.padded_head,
            .c = out,
            .c_row = s.padded_head,
            .m = block.rows,
            .n = s.padded_head,
            .k = block.keys});
}

/// Sets the scores of a row that its query does not see to -infinity, whose exponential is 0, up to a whole number of
/// vectors, which it returns; past those it writes 0.
std::int64_t mask(float* scores, std::int64_t keys, std::int64_t padded_keys) {
  const std::int64_t computed = padded(keys);
  std::fill(scores + keys, scores + computed, -std::numeric_limits<float>::infinity());
  std::fill(scores + computed, scores + padded_keys, 0.0F);
  return computed;
}

/// Turns a row of scores into exp(score - max), puts their sum into `total` and returns its log plus max.
float exponentiate(float* scores, std::int64_t keys, std::int64_t padded_keys, float& total) {
  const std::int64_t computed = mask(scores, keys, padded_keys);
  const float largest = max(scores, computed);
  for (std::int64_t j = 0; j < computed; ++j) scores[j] = exp_fp32(scores[j] - largest);
  total = sum(scores, computed);
  return largest + std::log(total);
}

/// Attention of one block of queries; `queries` and `out` name its rows.
void attend(const HeadRows& queries, const HeadRows& out, float* lse, const QueryBlock& block, const Sizes& s,
            const ForwardBuffers& buffers) {
  std::array<float, kQueryRows> total{};
  load_rows(queries, buffers.q, s.padded_head, s.scale);
  multiply_by_keys(buffers.q, buffers.keys_t, buffers.p, block, s);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    lse[r] = exponentiate(buffers.p + r * s.padded_keys, s.keys_of(block.first + r), block.padded_keys,
                          total[static_cast<std::size_t>(r)]);
  }
  multiply_by_rows(buffers.p, buffers.values, buffers.out, block, s);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    narrow(buffers.out + r * s.padded_head, out.row(r), s.head_size, 1.0F / total[static_cast<std::size_t>(r)]);
  }
}

void forward_cpu(const Arguments& views) {
  const BoundView &q = views[0], &k = views[1], &v = views[2], &out = views[3], &lse = views[4];
  const Sizes s(views.parameters<Parameters>(), q, k);
  const std::int64_t heads_per_group = s.heads / s.groups;
  Scratch scratch;
  const ForwardBuffers buffers(s, scratch);
  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    const std::int64_t start = sequence * s.seq_length, kv_start = sequence * s.kv_length;
    for (std::int64_t head = 0; head < s.heads; ++head) {
      const std::int64_t group_column = head / heads_per_group * s.head_size;
      if (head % heads_per_group == 0) {
        load_transposed({k, kv_start, s.kv_length, group_column, s.head_size}, buffers.keys_t, s.padded_keys);
        load_rows({v, kv_start, s.kv_length, group_column, s.head_size}, buffers.values, s.padded_head);
      }
      for_each_block(s, [&](const QueryBlock& block) {
        const std::int64_t first = start + block.first;
        const std::int64_t column = head * s.head_size;
        attend({q, first, block.rows, column, s.head_size}, {out, first, block.rows, column, s.head_size},
               lse.row<float>(head) + first, block, s, buffers);
      });
    }
  }
}

/// The scratch of a backward call.
struct BackwardBuffers {
  float *q, *dout, *dq, *keys, *keys_t, *values_t, *p, *ds, *dk, *dv;

  BackwardBuffers(const Sizes& s, Scratch& scratch)
      : q(scratch.take(kQueryRows * s.padded_head)),
        dout(scratch.take(kQueryRows * s.padded_head)),
        dq(scratch.take(kQueryRows * s.padded_head)),
        keys(scratch.take(s.kv_length * s.padded_head)),
        keys_t(scratch.take(s.head_size * s.padded_keys)),
        values_t(scratch.take(s.head_size * s.padded_keys)),
        p(scratch.take(kQueryRows * s.padded_keys)),
        ds(scratch.take(kQueryRows * s.padded_keys)),
        dk(scratch.take(s.kv_length * s.padded_head)),
        dv(scratch.take(s.kv_length * s.padded_head)) {}
};

/// to += p^T times rows of queries: what a block adds to the gradient of the keys or values that it saw.
void add_transposed_product(const float* p, const float* rows, float* to, const QueryBlock& block, const Sizes& s) {
  multiply({.a = p,
            .a_row = 1,
            .a_col = s.padded_keys,
            .b = rows,
            .b_row = s.padded_head,
            .c = to,
            .c_row = s.padded_head,
            .m = block.keys,
            .n = s.padded_head,
            .k = block.rows,
            .accumulate = true});
}

/// The rows of one block of queries of one head, in the tensors of the backward pass.
struct BackwardRows {
  HeadRows q, out, dout, dq;
  const float* lse = nullptr;
};

/// One row: scores become probabilities p, and dp, the gradient of the probabilities, becomes that of the scores.
void differentiate_softmax(float* p, float* dp, float lse, float delta, std::int64_t keys, std::int64_t padded_keys) {
  const std::int64_t computed = mask(p, keys, padded_keys);
  for (std::int64_t j = 0; j < computed; ++j) p[j] = exp_fp32(p[j] - lse);
  for (std::int64_t j = 0; j < computed; ++j) dp[j] = p[j] * (dp[j] - delta);
  std::fill(dp + keys, dp + padded_keys, 0.0F);
}

/// One block of queries: adds to dk and dv of its keys, and stores dq. Queries are loaded with the scale, so dk
/// includes it; dq is scaled when it is stored. Until then buffers.dq holds the rows of out.
void differentiate(const BackwardRows& rows, const QueryBlock& block, const Sizes& s, const BackwardBuffers& buffers) {
  load_rows(rows.q, buffers.q, s.padded_head, s.scale);
  load_rows(rows.dout, buffers.dout, s.padded_head);
  load_rows(rows.out, buffers.dq, s.padded_head);
  multiply_by_keys(buffers.q, buffers.keys_t, buffers.p, block, s);
  multiply_by_keys(buffers.dout, buffers.values_t, buffers.ds, block, s);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const float delta = dot(buffers.dout + r * s.padded_head, buffers.dq + r * s.padded_head, s.head_size);
    differentiate_softmax(buffers.p + r * s.padded_keys, buffers.ds + r * s.padded_keys, rows.lse[r], delta,
                          s.keys_of(block.first + r), block.padded_keys);
  }
  add_transposed_product(buffers.p, buffers.dout, buffers.dv, block, s);
  add_transposed_product(buffers.ds, buffers.q, buffers.dk, block, s);
  multiply_by_rows(buffers.ds, buffers.keys, buffers.dq, block, s);
  store_rows(buffers.dq, s.padded_head, rows.dq, s.scale);
}

/// Keys and values of a group for the products that need them, and its gradients at 0: its query heads add to them in
/// head order.
void load_group(const HeadRows& k, const HeadRows& v, const Sizes& s, const BackwardBuffers& buffers) {
  load_rows(k, buffers.keys, s.padded_head);
  load_transposed(k, buffers.keys_t, s.padded_keys);
  load_transposed(v, buffers.values_t, s.padded_keys);
  std::fill_n(buffers.dk, s.kv_length * s.padded_head, 0.0F);
  std::fill_n(buffers.dv, s.kv_length * s.padded_head, 0.0F);
}

void differentiate_head(const Arguments& views, std::int64_t start, std::int64_t head, const Sizes& s,
                        const BackwardBuffers& buffers) {
  const std::int64_t column = head * s.head_size;
  for_each_block(s, [&](const QueryBlock& block) {
    const std::int64_t first = start + block.first;
    const auto rows_of = [&](const BoundView& view) { return HeadRows{view, first, block.rows, column, s.head_size}; };
    differentiate({.q = rows_of(views[0]),
                   .out = rows_of(views[3]),
                   .dout = rows_of(views[5]),
                   .dq = rows_of(views[6]),
                   .lse = views[4].row<float>(head) + first},
                  block, s, buffers);
  });
}

void backward_cpu(const Arguments& views) {
  const BoundView &k = views[1], &v = views[2], &dk = views[7], &dv = views[8];
  const Sizes s(views.parameters<Parameters>(), views[0], k);
  const std::int64_t heads_per_group = s.heads / s.groups;
  Scratch scratch;
  const BackwardBuffers buffers(s, scratch);
  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    for (std::int64_t group = 0; group < s.groups; ++group) {
      const auto rows_of = [&](const BoundView& view) {
        return HeadRows{view, sequence * s.kv_length, s.kv_length, group * s.head_size, s.head_size};
      };
      load_group(rows_of(k), rows_of(v), s, buffers);
      for (std::int64_t i = 0; i < heads_per_group; ++i) {
        differentiate_head(views, sequence * s.seq_length, group * heads_per_group + i, s, buffers);
      }
      store_rows(buffers.dk, s.padded_head, rows_of(dk));
      store_rows(buffers.dv, s.padded_head, rows_of(dv));
    }
  }
}

/// Floating-point operations of `products` products of queries with the keys they see.
double flops(const View& q, const Parameters& p, int products) {
  const double hidden = p.causal ? static_cast<double>(p.seq_length - 1) / 2 : 0;  // keys of a sequence, on average
  const double pairs = static_cast<double>(q.rows) * (static_cast<double>(p.kv_length) - hidden);
  return 2.0 * products * pairs * static_cast<double>(q.cols);
}

// `rows` of a sequence are what the blocks of a GPU own.
std::array<std::int64_t, 3> extent(const View& q, const Parameters& p, std::int64_t rows) {
  return {rows, p.head_size, q.rows / p.seq_length * (q.cols / p.head_size)};
}

/// The parameters of either pass, which names its tensors alike.
template <class Tensors>
Parameters checked(const char* operation, const Tensors& t) {
  require_multiple(operation, "tokens", t.q.rows, "seq_length", t.seq_length);
  require_multiple(operation, "columns of q", t.q.cols, "head_size", t.head_size);
  require_multiple(operation, "columns of k", t.k.cols, "head_size", t.head_size);
  require_multiple(operation, "query heads", t.q.cols / t.head_size, "key/value heads", t.k.cols / t.head_size);
  const std::int64_t kv_length = t.kv_length == 0 ? t.seq_length : t.kv_length;
  require(operation, kv_length >= (t.causal ? t.seq_length : 1), "kv_length", static_cast<double>(kv_length),
          t.causal ? "at least seq_length with causal attention, so that every query sees a key" : "positive");
  return {.seq_length = t.seq_length, .head_size = t.head_size, .kv_length = kv_length, .causal = t.causal};
}

}  // namespace

Operation attention_forward(const AttentionForward& t) {
  static const NameId name = intern("attention_forward");
  const Parameters p = checked("attention_forward", t);
  const std::int64_t keys = t.q.rows / t.seq_length * p.kv_length, heads = t.q.cols / t.head_size;
  return make_operation(
             name, forward_cpu,
             {.flops = flops(t.q, p, 2), .work = Work::attention_forward, .extent = extent(t.q, p, p.seq_length)},
             {{t.q, Access::in, {"q", t.q.rows, t.q.cols, {DataType::bf16}}},
              {t.k, Access::in, {"k", keys, t.k.cols, {DataType::bf16}}},
              {t.v, Access::in, {"v", keys, t.k.cols, {DataType::bf16}}},
              {t.out, Access::out, {"out", t.q.rows, t.q.cols, {DataType::bf16}}},
              {t.lse, Access::out, {"lse", heads, t.q.rows, {DataType::f32}}}})
      .with_parameters(p);
}

Operation attention_backward(const AttentionBackward& t) {
  static const NameId name = intern("attention_backward");
  const Parameters p = checked("attention_backward", t);
  const std::int64_t keys = t.q.rows / t.seq_length * p.kv_length, heads = t.q.cols / t.head_size;
  return make_operation(
             name, backward_cpu,
             {.flops = flops(t.q, p, 5), .work = Work::attention_backward, .extent = extent(t.q, p, p.kv_length)},
             {{t.q, Access::in, {"q", t.q.rows, t.q.cols, {DataType::bf16}}},
              {t.k, Access::in, {"k", keys, t.k.cols, {DataType::bf16}}},
              {t.v, Access::in, {"v", keys, t.k.cols, {DataType::bf16}}},
              {t.out, Access::in, {"out", t.q.rows, t.q.cols, {DataType::bf16}}},
              {t.lse, Access::in, {"lse", heads, t.q.rows, {DataType::f32}}},
              {t.dout, Access::in, {"dout", t.q.rows, t.q.cols, {DataType::bf16}}},
              {t.dq, Access::out, {"dq", t.q.rows, t.q.cols, {DataType::bf16}}},
              {t.dk, Access::out, {"dk", t.k.rows, t.k.cols, {DataType::bf16}}},
              {t.dv, Access::out, {"dv", t.k.rows, t.k.cols, {DataType::bf16}}}})
      .with_parameters(p);
}

std::span<const KernelInfo> list_attention() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"attention", "attention_forward",
       "out [T,A D] = softmax(q k^T / sqrt(D)) v, causal or a tile of it, grouped queries",
       "4 A D flops per visible pair, T (S + 1) / 2 pairs if causal; 4 D (T A + U G) + 4 A T bytes"},
      {"attention", "attention_backward", "dq, dk, dv from dout, out and lse",
       "10 A D flops per visible pair; 8 D (T A + U G) + 4 A T bytes"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
