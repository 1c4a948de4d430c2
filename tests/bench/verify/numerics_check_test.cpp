// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/numerics_check.hpp"

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using report::NumericsLabel;

// Two cells, overlap off and on; `more` is appended.
std::vector<plan::Cell> numerics_cells(const std::string& more = "") {
  plan::Matrix matrix = plan::parse(
      "model: {num_layers: 1, hidden_size: 32, ffn_hidden_size: 64, num_attention_heads: 2, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 16}\ndata_parallel_size: 2\nmatrix:\n"
      "  comm_overlap.overlap_grad_reduce: [false, true]\n" +
          more,
      "config.yaml");
  EXPECT_THAT(matrix.errors, IsEmpty());
  return matrix.cells;
}

TEST(NumericsCheck, HoldsEachCellAgainstItsReference) {
  const NumericsCheck check = check_numerics(numerics_cells(), {true, true}, 3);
  EXPECT_EQ(check.cells[0].label, NumericsLabel::reference);
  EXPECT_EQ(check.cells[1].label, NumericsLabel::bit_identical);
  EXPECT_EQ(check.cells[1].reference, "overlap_grad_reduce=false");
  EXPECT_EQ(check.cells[1].steps, 3);
  EXPECT_THAT(check.mismatches, IsEmpty());
  ASSERT_EQ(check.axes.size(), 1U);
  EXPECT_EQ(check.axes[0].value, "true");
  EXPECT_EQ(check.axes[0].label, NumericsLabel::bit_identical);
}

TEST(NumericsCheck, LeavesOutACellThatIsNotSound) {
  const NumericsCheck check = check_numerics(numerics_cells(), {true, false}, 3);
  EXPECT_EQ(check.cells[0].label, NumericsLabel::reference);
  EXPECT_EQ(check.cells[1].label, NumericsLabel::not_checked);
  EXPECT_EQ(check.cells[1].reference, "");
  EXPECT_THAT(check.axes, IsEmpty());
}

// Where its link is emulated a run cannot compute losses; virtual time can.
TEST(NumericsCheck, ChecksACellWhoseLinkIsEmulated) {
  std::vector<plan::Cell> cells = numerics_cells();
  for (plan::Cell& cell : cells) cell.plan.config.run.emulated_link.emplace();
  EXPECT_EQ(check_numerics(cells, {true, true}, 3).cells[1].label, NumericsLabel::bit_identical);
}

TEST(NumericsCheck, AValueHasTheLargestDifferenceOfTheCellsThatItAloneSetsApart) {
  const NumericsCheck check = check_numerics(
      numerics_cells("  mixed_precision.grad_reduce_in_fp32: [true, false]\n  model.seq_length: [16, 32]\n"),
      std::vector<bool>(8, true), 3);
  ASSERT_EQ(check.axes.size(), 2U);
  EXPECT_EQ(check.axes[0].axis, "grad_reduce_in_fp32");
  EXPECT_EQ(check.axes[0].label, NumericsLabel::lower_precision);
  const double short_one = check.cells[2].max_loss_difference;
  const double long_one = check.cells[3].max_loss_difference;
  EXPECT_NE(short_one, long_one);
  EXPECT_EQ(check.axes[0].max_loss_difference, std::max(short_one, long_one));
  EXPECT_EQ(check.axes[1].axis, "overlap_grad_reduce");
  EXPECT_EQ(check.axes[1].label, NumericsLabel::bit_identical);
}

TEST(NumericsCheck, AValueHasTheWorstLabelOfThoseCells) {
  std::vector<plan::Cell> cells =
      numerics_cells("  mixed_precision.grad_reduce_in_fp32: [true, false]\n  model.seq_length: [16, 32]\n");
  cells[3].plan.config.ddp.grad_reduce_in_fp32 = true;  // of this one the value does nothing
  const NumericsCheck check = check_numerics(cells, std::vector<bool>(8, true), 3);
  EXPECT_EQ(check.cells[3].label, NumericsLabel::bit_identical);
  EXPECT_EQ(check.axes[0].label, NumericsLabel::lower_precision);
}

// The last of these cells differs from the first in both axes: it speaks for neither.
TEST(NumericsCheck, ACellThatTwoValuesSetApartSpeaksForNeither) {
  std::vector<plan::Cell> cells = numerics_cells("  mixed_precision.grad_reduce_in_fp32: [true, false]\n");
  for (plan::Cell& cell : cells) {
    cell.values[0].first = "unknown";  // no axis of overlap: all have the first reference
    std::swap(cell.values[0], cell.values[1]);
  }
  const NumericsCheck check = check_numerics(cells, {true, true, true, true}, 3);
  EXPECT_EQ(check.cells[3].reference, cells[0].name);
  ASSERT_EQ(check.axes.size(), 2U);
  EXPECT_EQ(check.axes[1].axis, "unknown");
  EXPECT_EQ(check.axes[1].label, NumericsLabel::bit_identical);
  EXPECT_EQ(check.axes[1].max_loss_difference, 0);
}

}  // namespace
}  // namespace underlap::bench
