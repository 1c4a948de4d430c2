// SPDX-License-Identifier: Apache-2.0
// What the CPU implementations say about an index outside its table. A CUDA implementation only raises a bit.
#include <stdexcept>

#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/embedding/embedding.hpp"
#include "tests/kernels/run_operation.hpp"

namespace underlap::test {
namespace {

TEST(IndexNames, CrossEntropyNamesTheTarget) {
  Memory memory;
  const View logits = memory.dense(DataType::bf16, 3, 37);
  const View targets = memory.row_of(DataType::i32, {0, 37, 0});
  const View lse = memory.dense(DataType::f32, 1, 3), loss = memory.dense(DataType::f32, 1, 1);
  EXPECT_THAT([&] { run_once(memory, kernels::cross_entropy_forward(logits, targets, lse, loss, 1)); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("cross_entropy_forward: target 37 at position 1 is outside [0, 37)")));
}

TEST(IndexNames, EmbeddingNamesTheToken) {
  Memory memory;
  const View word = memory.dense(DataType::bf16, 36, 8), position = memory.dense(DataType::bf16, 2, 8);
  const View tokens = memory.row_of(DataType::i32, {0, 36});
  const View out = memory.dense(DataType::bf16, 2, 8);
  EXPECT_THAT(
      [&] { run_once(memory, kernels::embedding_forward(tokens, word, position, out)); },
      ThrowsMessage<std::invalid_argument>(HasSubstr("embedding_forward: token 36 at position 1 is outside [0, 36)")));
}

TEST(IndexNames, EmbeddingNamesThePosition) {
  Memory memory;
  const View word = memory.dense(DataType::bf16, 36, 8), table = memory.dense(DataType::bf16, 5, 8);
  const View tokens = memory.dense(DataType::i32, 1, 3), out = memory.dense(DataType::bf16, 3, 8);
  const View positions = memory.row_of(DataType::i32, {0, 4, 5});
  EXPECT_THAT(
      [&] {
        run_once(memory, kernels::embedding_wgrad({tokens, positions}, out, word, table));
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("embedding_wgrad: sequence position 5 at position 2 is outside [0, 5)")));
}

}  // namespace
}  // namespace underlap::test
