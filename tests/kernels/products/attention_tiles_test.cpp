// SPDX-License-Identifier: Apache-2.0
// Attention of context-parallel ranks, put together from tiles, against attention of the whole sequence.
#include "kernels/attention/attention.hpp"
#include "kernels/attention_merge/attention_merge.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/zigzag/zigzag.hpp"
#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

using kernels::AttentionBackward;
using kernels::AttentionForward;

constexpr std::int64_t kLength = 40, kHeads = 4, kGroups = 2, kHeadSize = 8;
constexpr std::int64_t kWide = kHeads * kHeadSize, kNarrow = kGroups * kHeadSize;

View rows_of(const View& view, std::int64_t first, std::int64_t rows) {
  View part = view;
  part.offset += first * view.leading_dimension;
  part.rows = rows;
  return part;
}

View columns_of(const View& view, std::int64_t first, std::int64_t cols) {
  View part = view;
  part.offset += first;
  part.cols = cols;
  return part;
}

/// The tensors of both passes. Rows, and columns of lse, are in one order or the other.
struct Tensors {
  View q, k, v, out, lse, dout, dq, dk, dv;

  explicit Tensors(Memory& memory)
      : q(memory.dense(DataType::bf16, kLength, kWide)),
        k(memory.dense(DataType::bf16, kLength, kNarrow)),
        v(memory.dense(DataType::bf16, kLength, kNarrow)),
        out(memory.dense(DataType::bf16, kLength, kWide)),
        lse(memory.dense(DataType::f32, kHeads, kLength)),
        dout(memory.dense(DataType::bf16, kLength, kWide)),
        dq(memory.dense(DataType::bf16, kLength, kWide)),
        dk(memory.dense(DataType::bf16, kLength, kNarrow)),
        dv(memory.dense(DataType::bf16, kLength, kNarrow)) {}
};

/// Some of the queries against some of the keys.
struct Tile {
  std::int64_t query, queries, key, keys;  ///< rows: the first, and how many
  bool causal;
};

/// Tiles of the zigzag ring: `from` is whose keys they are. All queries meet the early chunk of an earlier rank; only
/// the late ones meet what a later rank has, and they meet both of its chunks.
Tile tile_of(std::int64_t ranks, std::int64_t rank, std::int64_t from) {
  const std::int64_t here = kLength / ranks, chunk = here / 2;
  if (from == rank) return {rank * here, here, from * here, here, true};
  if (from < rank) return {rank * here, here, from * here, chunk, false};
  return {rank * here + chunk, chunk, from * here, here, false};
}

class Ring : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    for (View* view : {&whole.q, &whole.k, &whole.v, &whole.dout}) memory.randomize(*view);
    run_operation(memory,
                  kernels::attention_forward(forward(whole, {0, kLength, 0, kLength, true}, whole.out, whole.lse)));
    for (const auto view : {&Tensors::q, &Tensors::k, &Tensors::v, &Tensors::dout})
      run_operation(memory, kernels::to_rank_order(whole.*view, held.*view, 1, ranks));
  }

  /// A tile of `t`, whose result goes to `out` and `lse`.
  static AttentionForward forward(const Tensors& t, const Tile& tile, const View& out, const View& lse) {
    return {.q = rows_of(t.q, tile.query, tile.queries),
            .k = rows_of(t.k, tile.key, tile.keys),
            .v = rows_of(t.v, tile.key, tile.keys),
            .out = out,
            .lse = lse,
            .seq_length = tile.queries,
            .head_size = kHeadSize,
            .kv_length = tile.keys,
            .causal = tile.causal};
  }

  struct Step {
    Tile tile;
    View out, lse;
  };

  /// The forward pass of one rank, as a ring does it: its own keys, then the others'.
  void attend(std::int64_t rank) {
    std::vector<Step> steps;
    for (std::int64_t i = 0; i < ranks; ++i) {
      const Tile tile = tile_of(ranks, rank, (rank + ranks - i) % ranks);
      steps.push_back({tile, memory.dense(DataType::bf16, tile.queries, kWide),
                       i == 0 ? columns_of(held.lse, tile.query, tile.queries)
                              : memory.dense(DataType::f32, kHeads, tile.queries)});
      run_operation(memory, kernels::attention_forward(forward(held, tile, steps.back().out, steps.back().lse)));
    }
    const Tile& own = steps[0].tile;
    const View lse = steps[0].lse,
               own_lse = memory.set(memory.dense(DataType::f32, kHeads, own.queries), memory.get(lse).values);
    steps[0].lse = own_lse;
    for (std::int64_t i = 1; i < ranks; ++i) {
      const Step& step = steps[static_cast<std::size_t>(i)];
      run_operation(memory, kernels::merge_lse(step.lse, columns_of(held.lse, step.tile.query, step.tile.queries)));
    }
    const View sum = memory.dense(DataType::f32, own.queries, kWide);
    for (const Step& step : steps)
      run_operation(memory, kernels::attention_correction(
                                step.out, step.lse, columns_of(held.lse, step.tile.query, step.tile.queries),
                                rows_of(sum, step.tile.query - own.query, step.tile.queries), &step == &steps[0]));
    run_operation(memory, kernels::cast(sum, rows_of(held.out, own.query, own.queries)));
  }

  /// What a tile adds to the gradients, into views of `t` of its own shape.
  AttentionBackward backward(const Tensors& t, const Tile& tile) {
    return {.q = rows_of(t.q, tile.query, tile.queries),
            .k = rows_of(t.k, tile.key, tile.keys),
            .v = rows_of(t.v, tile.key, tile.keys),
            .out = rows_of(t.out, tile.query, tile.queries),
            .lse = columns_of(t.lse, tile.query, tile.queries),
            .dout = rows_of(t.dout, tile.query, tile.queries),
            .dq = memory.dense(DataType::bf16, tile.queries, kWide),
            .dk = memory.dense(DataType::bf16, tile.keys, kNarrow),
            .dv = memory.dense(DataType::bf16, tile.keys, kNarrow),
            .seq_length = tile.queries,
            .head_size = kHeadSize,
            .kv_length = tile.keys,
            .causal = tile.causal};
  }

  void add_rows(Matrix& to, std::int64_t first, const View& view) {
    const Matrix rows = memory.get(view);
    for (std::int64_t r = 0; r < rows.rows; ++r)
      for (std::int64_t c = 0; c < rows.cols; ++c) to(first + r, c) += rows(r, c);
  }

  /// The rows of a tensor in sequence order.
  Matrix in_sequence(const View& view) {
    const View out = memory.dense(view.tensor.dtype, view.rows, view.cols);
    run_operation(memory, kernels::to_sequence_order(view, out, 1, ranks));
    return memory.get(out);
  }
  Matrix in_sequence(const Matrix& matrix) { return in_sequence(fp32(matrix)); }
  Matrix in_rank_order(const Matrix& matrix) {
    const View out = memory.dense(DataType::f32, matrix.rows, matrix.cols);
    run_operation(memory, kernels::to_rank_order(fp32(matrix), out, 1, ranks));
    return memory.get(out);
  }
  View fp32(const Matrix& matrix) {
    return memory.set(memory.dense(DataType::f32, matrix.rows, matrix.cols), matrix.values);
  }
  static Matrix transposed(const Matrix& matrix) {
    return matrix_of(matrix.cols, matrix.rows, [&](std::int64_t r, std::int64_t c) { return matrix(c, r); });
  }

  std::int64_t ranks = GetParam();
  Memory memory;
  Tensors whole{memory}, held{memory};  // in sequence order, in rank order
};

INSTANTIATE_TEST_SUITE_P(Ranks, Ring, testing::Values(1, 2, 4, 5));

// Each tile's result is rounded to bf16, as are the sum of these and the whole's.
constexpr Tolerance kRoundedTwice{.relative = 0.0079, .of_rms = 0.004};
constexpr Tolerance kSumOfRounded{.relative = 0.0079, .of_rms = 0.008};

TEST_P(Ring, MergedTilesAreAttentionOfTheWholeSequence) {
  for (std::int64_t rank = 0; rank < ranks; ++rank) attend(rank);
  expect_close(in_sequence(held.out), memory.get(whole.out), kRoundedTwice);
  const Matrix lse = in_sequence(transposed(memory.get(held.lse))), expected = transposed(memory.get(whole.lse));
  for (std::size_t i = 0; i < expected.values.size(); ++i) EXPECT_NEAR(lse.values[i], expected.values[i], 2e-6);
}

// The forward pass's results are the whole's, so that all that differs is how the sums are cut.
TEST_P(Ring, GradientsOfTilesSumToThoseOfTheWholeSequence) {
  run_operation(memory, kernels::to_rank_order(whole.out, held.out, 1, ranks));
  memory.set(held.lse, transposed(in_rank_order(transposed(memory.get(whole.lse)))).values);
  Matrix dq(kLength, kWide), dk(kLength, kNarrow), dv(kLength, kNarrow);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t from = 0; from < ranks; ++from) {
      const Tile tile = tile_of(ranks, rank, from);
      const AttentionBackward part = backward(held, tile);
      run_operation(memory, kernels::attention_backward(part));
      add_rows(dq, tile.query, part.dq);
      add_rows(dk, tile.key, part.dk);
      add_rows(dv, tile.key, part.dv);
    }
  }
  const AttentionBackward expected = backward(whole, {0, kLength, 0, kLength, true});
  run_operation(memory, kernels::attention_backward(expected));
  expect_close(in_sequence(dq), memory.get(expected.dq), kSumOfRounded);
  expect_close(in_sequence(dk), memory.get(expected.dk), kSumOfRounded);
  expect_close(in_sequence(dv), memory.get(expected.dv), kSumOfRounded);
}

// Where keys were gathered, a chunk of queries meets all keys up to its own end, and nothing is merged.
TEST_P(Ring, GatheredKeysGiveAChunksRowsOfTheWhole) {
  const std::int64_t chunk = kLength / (2 * ranks);
  for (std::int64_t first = 0; first < kLength; first += chunk) {
    const View out = memory.dense(DataType::bf16, chunk, kWide), lse = memory.dense(DataType::f32, kHeads, chunk);
    run_operation(memory, kernels::attention_forward(forward(whole, {first, chunk, 0, first + chunk, true}, out, lse)));
    expect_close(memory.get(out), memory.get(rows_of(whole.out, first, chunk)), {.relative = 0.0079, .of_rms = 1e-5});
    expect_close(memory.get(lse), memory.get(columns_of(whole.lse, first, chunk)), kFp32);
  }
}

}  // namespace
}  // namespace underlap::test
