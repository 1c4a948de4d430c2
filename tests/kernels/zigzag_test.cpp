// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <tuple>

#include "kernels/zigzag/zigzag.hpp"

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

struct ZigzagShape {
  const char* name;
  std::int64_t ranks, sequences, chunk, cols;
  std::int64_t gap;  ///< elements between rows
  Placement placement;

  std::int64_t seq_length() const { return 2 * ranks * chunk; }
  std::int64_t rows() const { return sequences * seq_length(); }
};

/// For each row in rank order, which it is in sequence order: rank by rank, sequence by sequence, the early chunk, then
/// the late one.
std::vector<std::int64_t> rank_order(const ZigzagShape& s) {
  std::vector<std::int64_t> rows;
  for (std::int64_t rank = 0; rank < s.ranks; ++rank)
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence)
      for (const std::int64_t chunk : {rank, 2 * s.ranks - 1 - rank})
        for (std::int64_t i = 0; i < s.chunk; ++i) rows.push_back(sequence * s.seq_length() + chunk * s.chunk + i);
  return rows;
}

class Zigzag : public testing::TestWithParam<std::tuple<DataType, ZigzagShape>> {
 protected:
  View make() { return memory.columns(std::get<0>(GetParam()), s.rows(), s.cols, s.cols + s.gap, s.gap / 2); }
  /// Numbers that bf16 holds, other ones in each row.
  View counted() {
    return memory.set(make(), [&](std::int64_t i) { return i / s.cols + i % s.cols % 3 * 64; });
  }

  const ZigzagShape& s = std::get<1>(GetParam());
  Memory memory;
};

INSTANTIATE_TEST_SUITE_P(Shapes, Zigzag,
                         testing::Combine(testing::Values(DataType::bf16, DataType::f32, DataType::i32),
                                          testing::Values(ZigzagShape{"one_rank", 1, 2, 3, 8, 0, Placement::aligned},
                                                          ZigzagShape{"two_ranks", 2, 1, 4, 48, 16, Placement::aligned},
                                                          ZigzagShape{"four_ranks", 4, 2, 3, 20, 0, Placement::aligned},
                                                          ZigzagShape{"three_ranks", 3, 2, 1, 5, 3, Placement::odd},
                                                          ZigzagShape{"one_column", 2, 3, 5, 1, 0, Placement::odd})),
                         [](const auto& parameter) {
                           return std::string(to_string(std::get<0>(parameter.param))) + "_" +
                                  std::get<1>(parameter.param).name;
                         });

TEST_P(Zigzag, PutsWhatRanksHoldIntoSequenceOrder) {
  const View x = counted(), out = make();
  run_operation(memory, kernels::to_sequence_order(x, out, s.sequences, s.ranks), s.placement);
  const Matrix from = memory.get(x), to = memory.get(out);
  const std::vector<std::int64_t> rows = rank_order(s);
  for (std::int64_t r = 0; r < s.rows(); ++r)
    for (std::int64_t c = 0; c < s.cols; ++c)
      ASSERT_EQ(to(rows[static_cast<std::size_t>(r)], c), from(r, c)) << r << ", " << c;
}

TEST_P(Zigzag, ToRankOrderIsTheInverse) {
  const View x = counted(), ordered = make(), back = make();
  run_operation(memory, kernels::to_sequence_order(x, ordered, s.sequences, s.ranks), s.placement);
  run_operation(memory, kernels::to_rank_order(ordered, back, s.sequences, s.ranks), s.placement);
  EXPECT_EQ(memory.get(back).values, memory.get(x).values);
  run_operation(memory, kernels::to_rank_order(x, ordered, s.sequences, s.ranks), s.placement);
  run_operation(memory, kernels::to_sequence_order(ordered, back, s.sequences, s.ranks), s.placement);
  EXPECT_EQ(memory.get(back).values, memory.get(x).values);
}

TEST(ZigzagShapes, CostsAndRefusals) {
  Memory memory;
  const View x = memory.dense(DataType::bf16, 24, 8), out = memory.dense(DataType::bf16, 24, 8);
  EXPECT_EQ(kernels::to_rank_order(x, out, 3, 2).cost().bytes_read, 2 * 24 * 8);
  EXPECT_EQ(kernels::to_rank_order(x, out, 3, 2).cost().bytes_written, 2 * 24 * 8);
  EXPECT_THROW(kernels::to_rank_order(x, out, 5, 2), std::invalid_argument);
  EXPECT_THROW(kernels::to_sequence_order(x, out, 1, 5), std::invalid_argument);
  EXPECT_THROW(kernels::to_sequence_order(x, out, 0, 2), std::invalid_argument);
  EXPECT_THROW(kernels::to_sequence_order(x, out, 1, 0), std::invalid_argument);
  EXPECT_THROW(kernels::to_sequence_order(x, memory.dense(DataType::f32, 24, 8), 1, 2), std::invalid_argument);
  EXPECT_THROW(kernels::to_sequence_order(x, memory.dense(DataType::bf16, 12, 16), 1, 2), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
