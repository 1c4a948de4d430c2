// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <stdexcept>

#include "kernels/embedding/embedding.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kVocabulary = 37, kSequence = 7, kLookups = 14, kRowLength = 24;

struct Embedding : testing::Test {
  Memory memory;
  View tokens = memory.row_of(DataType::i32, {3, 36, 0, 3, 3, 12, 1, 2, 3, 0, 35, 36, 7, 7});

  std::int64_t token(std::int64_t t) { return static_cast<std::int64_t>(memory.get(tokens)(0, t)); }

  /// What the first `count` tokens look up in `word`, and where there are `positions`, in that table.
  Matrix looked_up(std::int64_t count, const View& word, const View& table = {},
                   const std::function<std::int64_t(std::int64_t)>& position = {}) {
    const Matrix w = memory.get(word);
    return matrix_of(count, kRowLength, [&](std::int64_t t, std::int64_t h) {
      return w(token(t), h) + (position ? memory.get(table)(position(t), h) : 0);
    });
  }
};

std::int64_t in_turn(std::int64_t t) { return t % kSequence; }

TEST_F(Embedding, ForwardAddsTheRowsOfTokenAndPosition) {
  const View word = memory.randomize(memory.columns(DataType::bf16, kVocabulary, kRowLength, 27, 2));
  const View position = memory.random(DataType::bf16, kSequence, kRowLength);
  const View out = memory.columns(DataType::bf16, kLookups, kRowLength, 26, 1);
  run_operation(memory, kernels::embedding_forward(tokens, word, position, out));
  expect_close(memory.get(out), looked_up(kLookups, word, position, in_turn), kBf16Rounded);
}

TEST_F(Embedding, WgradAddsEveryTokensGradientInBothTypes) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const View dout = memory.randomize(memory.columns(DataType::bf16, kLookups, kRowLength, 25, 1));
    const View dword = memory.randomize(memory.columns(dtype, kVocabulary, kRowLength, 26, 2));
    const View dposition = memory.random(dtype, kSequence, kRowLength);
    Matrix word = memory.get(dword), position = memory.get(dposition);
    const Matrix d = memory.get(dout);
    for (std::int64_t t = 0; t < kLookups; ++t) {
      for (std::int64_t h = 0; h < kRowLength; ++h) {
        word(token(t), h) += d(t, h);
        position(t % kSequence, h) += d(t, h);
      }
    }
    run_operation(memory, kernels::embedding_wgrad(tokens, dout, dword, dposition));
    const Tolerance tolerance = dtype == DataType::f32 ? kFp32 : kBf16Rounded;
    expect_close(memory.get(dword), word, tolerance);
    expect_close(memory.get(dposition), position, tolerance);
  }
}

TEST_F(Embedding, WithoutATableOfPositionsCopiesRowsAndAddsThem) {
  const View word = memory.randomize(memory.columns(DataType::bf16, kVocabulary, kRowLength, 27, 2));
  const View out = memory.columns(DataType::bf16, kLookups, kRowLength, 26, 1);
  run_operation(memory, kernels::embedding_forward(tokens, word, {}, out));
  const Matrix expected = looked_up(kLookups, word);
  expect_close(memory.get(out), expected, kBf16Rounded);
  const View dword = memory.random(DataType::f32, kVocabulary, kRowLength);
  Matrix total = memory.get(dword);
  for (std::int64_t t = 0; t < kLookups; ++t)
    for (std::int64_t h = 0; h < kRowLength; ++h) total(token(t), h) += expected(t, h);
  run_operation(memory, kernels::embedding_wgrad(tokens, out, dword, {}));
  expect_close(memory.get(dword), total, kFp32);
  const View positions = memory.dense(DataType::i32, 1, kLookups);
  EXPECT_THROW(kernels::embedding_forward({tokens, positions}, word, {}, out), std::invalid_argument);
}

// Some tokens share a position, some positions have no token, and the tokens are no whole number of sequences.
struct EmbeddingParts : Embedding {
  static constexpr std::int64_t kPart = 9;
  View part = flat(tokens.tensor, 0, kPart);
  View positions = memory.row_of(DataType::i32, {4, 5, 6, 0, 4, 5, 6, 4, 1});

  std::int64_t position(std::int64_t t) { return static_cast<std::int64_t>(memory.get(positions)(0, t)); }
};

TEST_F(EmbeddingParts, ForwardTakesTheGivenPositions) {
  const View word = memory.randomize(memory.columns(DataType::bf16, kVocabulary, kRowLength, 27, 2));
  const View table = memory.random(DataType::bf16, kSequence, kRowLength);
  const View out = memory.columns(DataType::bf16, kPart, kRowLength, 26, 1);
  run_operation(memory, kernels::embedding_forward({part, positions}, word, table, out));
  expect_close(memory.get(out), looked_up(kPart, word, table, [&](std::int64_t t) { return position(t); }),
               kBf16Rounded);
}

// Sums of one row are taken in fp32 in token order and added once: fp32 numbers say so to the bit.
TEST_F(EmbeddingParts, WgradAddsToTheGivenPositionsInTokenOrder) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const View dout = memory.randomize(memory.columns(DataType::bf16, kPart, kRowLength, 25, 1));
    const View dword = memory.random(dtype, kVocabulary, kRowLength);
    const View dposition = memory.randomize(memory.columns(dtype, kSequence, kRowLength, 26, 2));
    const Matrix d = memory.get(dout);
    Matrix expected = memory.get(dposition);
    for (std::int64_t s = 0; s < kSequence; ++s) {
      for (std::int64_t h = 0; h < kRowLength; ++h) {
        float sum = 0;
        for (std::int64_t t = 0; t < kPart; ++t) sum += position(t) == s ? static_cast<float>(d(t, h)) : 0.0F;
        const float total = static_cast<float>(expected(s, h)) + sum;
        expected(s, h) = dtype == DataType::f32 ? total : static_cast<float>(bf16(total));
      }
    }
    run_operation(memory, kernels::embedding_wgrad({part, positions}, dout, dword, dposition));
    EXPECT_EQ(memory.get(dposition).values, expected.values);
  }
}

TEST_F(EmbeddingParts, PositionsOfWholeSequencesChangeNothing) {
  const kernels::EmbeddedTokens given(tokens, memory.set(memory.dense(DataType::i32, 1, kLookups), in_turn));
  const View word = memory.random(DataType::f32, kVocabulary, kRowLength);
  const View table = memory.random(DataType::f32, kSequence, kRowLength);
  const View dout = memory.random(DataType::bf16, kLookups, kRowLength);
  Memory other = memory;
  run_operation(memory, kernels::embedding_wgrad(tokens, dout, word, table));
  run_operation(other, kernels::embedding_wgrad(given, dout, word, table));
  EXPECT_EQ(memory.get(word).values, other.get(word).values);
  EXPECT_EQ(memory.get(table).values, other.get(table).values);
}

TEST_F(EmbeddingParts, TrafficCountsThePositionsAndTheRowsThatTheyCanTouch) {
  const View word = memory.dense(DataType::bf16, kVocabulary, kRowLength);
  const View table = memory.dense(DataType::bf16, 100, kRowLength);
  const View out = memory.dense(DataType::bf16, kPart, kRowLength);
  const Cost forward = kernels::embedding_forward({part, positions}, word, table, out).cost();
  EXPECT_EQ(forward.bytes_read, 2 * 4 * kPart + 2 * 2 * kPart * kRowLength);
  const Cost wgrad = kernels::embedding_wgrad({part, positions}, out, word, table).cost();
  EXPECT_EQ(wgrad.bytes_written, 2 * 2 * kPart * kRowLength);
  EXPECT_THROW(kernels::embedding_forward({part, flat(positions.tensor, 0, kPart - 1)}, word, table, out),
               std::invalid_argument);
}

/// The rows of `whole` that rank `rank` of `ranks` holds, as a table of its own.
View shard_of(Memory& memory, const View& whole, std::int64_t ranks, std::int64_t rank) {
  const std::int64_t rows = whole.rows / ranks;
  const View part = memory.dense(whole.tensor.dtype, rows, whole.cols);
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(memory.row(part, r), memory.row(whole, rank * rows + r),
                static_cast<std::size_t>(whole.cols * size_of(whole.tensor.dtype)));
  return part;
}

constexpr std::int64_t kShared = 40;  // entries of a vocabulary that 2 and 4 ranks can share

TEST_F(Embedding, ForwardOfShardsSumsToTheWholesToTheBit) {
  const View word = memory.random(DataType::bf16, kShared, kRowLength);
  const View position = memory.random(DataType::bf16, kSequence, kRowLength);
  const View out = memory.dense(DataType::bf16, kLookups, kRowLength);
  run_operation(memory, kernels::embedding_forward(tokens, word, position, out));
  const Matrix whole = memory.get(out);
  for (const std::int64_t ranks : {2, 4}) {
    Matrix sum(kLookups, kRowLength);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t first = rank * kShared / ranks;
      const View part = memory.columns(DataType::bf16, kLookups, kRowLength, 26, 1);
      run_operation(memory, kernels::embedding_forward(tokens, shard_of(memory, word, ranks, rank), position, part,
                                                       {.first = first, .vocab_size = kShared}));
      const Matrix held = memory.get(part);
      for (std::int64_t t = 0; t < kLookups; ++t) {
        const bool is_held = token(t) >= first && token(t) < first + kShared / ranks;
        for (std::int64_t h = 0; h < kRowLength; ++h) EXPECT_EQ(held(t, h), is_held ? whole(t, h) : 0.0);
      }
      sum = plus(sum, held);
    }
    EXPECT_EQ(sum.values, whole.values) << ranks << " ranks";
  }
}

TEST_F(Embedding, WgradOfShardsIsTheWholesToTheBit) {
  const View dout = memory.random(DataType::bf16, kLookups, kRowLength);
  for (const std::int64_t ranks : {2, 4}) {
    const View dword = memory.random(DataType::f32, kShared, kRowLength);
    std::vector<View> parts, positions;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      parts.push_back(shard_of(memory, dword, ranks, rank));
      positions.push_back(memory.dense(DataType::f32, kSequence, kRowLength));
    }
    const View dposition = memory.dense(DataType::f32, kSequence, kRowLength);
    run_operation(memory, kernels::embedding_wgrad(tokens, dout, dword, dposition));
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      run_operation(memory, kernels::embedding_wgrad(tokens, dout, parts[at], positions[at],
                                                     {.first = rank * kShared / ranks, .vocab_size = kShared}));
      EXPECT_EQ(memory.get(parts[at]).values, memory.get(shard_of(memory, dword, ranks, rank)).values);
      EXPECT_EQ(memory.get(positions[at]).values, memory.get(dposition).values);
    }
  }
}

// 1e8 is so far outside that touching it ends the program.
TEST_F(EmbeddingParts, RefusesTokensAndPositionsOutsideTheirTables) {
  const View word = memory.dense(DataType::bf16, kVocabulary, kRowLength);
  const View last = memory.dense(DataType::bf16, 10, kRowLength);
  const View table = memory.dense(DataType::bf16, kSequence, kRowLength);
  const View out = memory.dense(DataType::bf16, kLookups, kRowLength);
  const View out_of_part = memory.dense(DataType::bf16, kPart, kRowLength);
  const auto expect_refused = [&](const kernels::EmbeddedTokens& of, const View& w, const View& o,
                                  const kernels::VocabShard& shard = {}) {
    EXPECT_THROW(run_once(memory, kernels::embedding_forward(of, w, table, o, shard)), std::invalid_argument);
    EXPECT_THROW(run_once(memory, kernels::embedding_wgrad(of, o, w, table, shard)), std::invalid_argument);
  };
  for (const kernels::VocabShard& shard : {kernels::VocabShard{-1, 40}, {31, 40}, {0, 9}, {1, 0}})
    expect_refused(tokens, last, out, shard);
  for (const double outside : {7.0, -1.0, 1e8}) {
    memory.set(positions, std::vector<double>{4, 5, 6, 0, outside, 5, 6, 4, 1});
    expect_refused({part, positions}, word, out_of_part);
  }
  for (const double outside : {37.0, -1.0, 1e8}) {
    memory.set(tokens, std::vector<double>{3, 36, 0, 3, 3, 12, 1, outside, 3, 0, 35, 36, 7, 7});
    expect_refused(tokens, word, out);
  }
  memory.set(tokens, std::vector<double>{3, 36, 0, 3, 3, 12, 1, 40, 3, 0, 35, 36, 7, 7});
  expect_refused(tokens, last, out, {30, 40});
}

TEST_F(Embedding, RefusesTokensThatAreNoWholeSequences) {
  const View word = memory.dense(DataType::bf16, kVocabulary, kRowLength);
  const View position = memory.dense(DataType::bf16, 5, kRowLength);
  const View out = memory.dense(DataType::bf16, kLookups, kRowLength);
  EXPECT_THROW(kernels::embedding_forward(tokens, word, position, out), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
