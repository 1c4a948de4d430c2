// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr std::int64_t kVocabulary = 37, kSequence = 7, kTokens = 14, kHidden = 24;

struct Embedding : testing::Test {
  Memory memory;
  View tokens = memory.set(memory.dense(DataType::i32, 1, kTokens),
                           std::vector<double>{3, 36, 0, 3, 3, 12, 1, 2, 3, 0, 35, 36, 7, 7});

  std::int64_t token(std::int64_t t) { return static_cast<std::int64_t>(memory.get(tokens)(0, t)); }
};

TEST_F(Embedding, ForwardAddsTheRowsOfTokenAndPosition) {
  const View word = memory.randomize(memory.columns(DataType::bf16, kVocabulary, kHidden, 27, 2));
  const View position = memory.randomize(memory.dense(DataType::bf16, kSequence, kHidden));
  const View out = memory.columns(DataType::bf16, kTokens, kHidden, 26, 1);
  run_operation(memory, kernels::embedding_forward(tokens, word, position, out));
  const Matrix w = memory.get(word), p = memory.get(position);
  Matrix expected(kTokens, kHidden);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < kHidden; ++h) expected(t, h) = w(token(t), h) + p(t % kSequence, h);
  }
  expect_close(memory.get(out), expected, kBf16Rounded);
}

TEST_F(Embedding, WgradAddsEveryTokensGradientInBothTypes) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    const View dout = memory.randomize(memory.columns(DataType::bf16, kTokens, kHidden, 25, 1));
    const View dword = memory.randomize(memory.columns(dtype, kVocabulary, kHidden, 26, 2));
    const View dposition = memory.randomize(memory.dense(dtype, kSequence, kHidden));
    Matrix word = memory.get(dword), position = memory.get(dposition);
    const Matrix d = memory.get(dout);
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t h = 0; h < kHidden; ++h) {
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

TEST_F(Embedding, RefusesTokensOutsideTheVocabulary) {
  const View word = memory.dense(DataType::bf16, kVocabulary, kHidden);
  const View position = memory.dense(DataType::bf16, kSequence, kHidden);
  const View out = memory.dense(DataType::bf16, kTokens, kHidden);
  for (const double outside : {37.0, -1.0}) {
    memory.set(tokens, std::vector<double>{3, 36, 0, 3, 3, 12, 1, outside, 3, 0, 35, 36, 7, 7});
    EXPECT_THROW(run_once(memory, kernels::embedding_forward(tokens, word, position, out)), std::invalid_argument);
    EXPECT_THROW(run_once(memory, kernels::embedding_wgrad(tokens, out, word, position)), std::invalid_argument);
  }
}

TEST_F(Embedding, RefusesTokensThatAreNoWholeSequences) {
  const View word = memory.dense(DataType::bf16, kVocabulary, kHidden);
  const View position = memory.dense(DataType::bf16, 5, kHidden);
  const View out = memory.dense(DataType::bf16, kTokens, kHidden);
  EXPECT_THROW(kernels::embedding_forward(tokens, word, position, out), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
