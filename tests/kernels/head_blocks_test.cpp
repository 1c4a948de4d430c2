// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <tuple>

#include "kernels/head_blocks/head_blocks.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

struct HeadBlocksShape {
  const char* name;
  std::int64_t blocks, tokens, cols;
  std::int64_t gap;  ///< elements around the heads of a token, as where q, k and v are packed
  Placement placement;
};

class HeadBlocks : public testing::TestWithParam<std::tuple<DataType, HeadBlocksShape>> {
 protected:
  View heads() {
    const std::int64_t cols = s.blocks * s.cols;
    return memory.columns(dtype, s.tokens, cols, cols + 2 * s.gap, s.gap);
  }
  View blocks() { return memory.columns(dtype, s.blocks * s.tokens, s.cols, s.cols + s.gap, 0); }
  /// Whole numbers that every type holds.
  View counted(const View& view) {
    return memory.set(view, [](std::int64_t i) { return i * i / 7 % 127; });
  }

  DataType dtype = std::get<0>(GetParam());
  const HeadBlocksShape& s = std::get<1>(GetParam());
  Memory memory;
};

INSTANTIATE_TEST_SUITE_P(Shapes, HeadBlocks,
                         testing::Combine(testing::Values(DataType::bf16, DataType::f32, DataType::u8),
                                          testing::Values(HeadBlocksShape{"one_block", 1, 3, 16, 0, Placement::aligned},
                                                          HeadBlocksShape{"two", 2, 5, 32, 16, Placement::aligned},
                                                          HeadBlocksShape{"four", 4, 3, 48, 0, Placement::aligned},
                                                          HeadBlocksShape{"ragged", 3, 4, 20, 16, Placement::aligned},
                                                          HeadBlocksShape{"odd", 3, 7, 5, 3, Placement::odd},
                                                          HeadBlocksShape{"one_token", 4, 1, 8, 0, Placement::odd})),
                         [](const auto& parameter) {
                           return std::string(to_string(std::get<0>(parameter.param))) + "_" +
                                  std::get<1>(parameter.param).name;
                         });

TEST_P(HeadBlocks, EachBlockIsItsColumns) {
  const View x = counted(heads()), out = blocks();
  run_operation(memory, kernels::heads_to_blocks(x, out), s.placement);
  const Matrix from = memory.get(x), to = memory.get(out);
  for (std::int64_t j = 0; j < s.blocks; ++j)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t c = 0; c < s.cols; ++c)
        ASSERT_EQ(to(j * s.tokens + t, c), from(t, j * s.cols + c)) << j << ", " << t << ", " << c;
}

TEST_P(HeadBlocks, ToHeadsIsTheInverse) {
  const View x = counted(heads()), between = blocks(), back = heads();
  run_operation(memory, kernels::heads_to_blocks(x, between), s.placement);
  run_operation(memory, kernels::blocks_to_heads(between, back), s.placement);
  EXPECT_EQ(memory.get(back).values, memory.get(x).values);
}

TEST(HeadBlocksShapes, CostsAndRefusals) {
  Memory memory;
  const View heads = memory.dense(DataType::bf16, 6, 24), blocks = memory.dense(DataType::bf16, 18, 8);
  EXPECT_EQ(kernels::heads_to_blocks(heads, blocks).cost().bytes_read, 2 * 6 * 24);
  EXPECT_EQ(kernels::blocks_to_heads(blocks, heads).cost().bytes_written, 2 * 6 * 24);
  EXPECT_THROW(kernels::heads_to_blocks(blocks, heads), std::invalid_argument);
  EXPECT_THROW(kernels::heads_to_blocks(heads, memory.dense(DataType::bf16, 12, 8)), std::invalid_argument);
  EXPECT_THROW(kernels::heads_to_blocks(heads, memory.dense(DataType::bf16, 28, 5)), std::invalid_argument);
  EXPECT_THROW(kernels::blocks_to_heads(memory.dense(DataType::f32, 18, 8), heads), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
