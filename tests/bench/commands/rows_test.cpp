// SPDX-License-Identifier: Apache-2.0
// What `underlap run` says of the cells of a matrix, and of those that it cannot run.
#include <fmt/format.h>

#include "profiler/report/cell_summary.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

std::string off_and_on(const std::string& axis, const std::string& off, const std::string& on,
                       const std::string& without) {
  return fmt::format(
      "data_parallel_size: 2\nmatrix:\n  {0}:\n"
      "    - {{name: {1}, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}}\n"
      "    - {{name: {2}}}\n"
      "    - {{name: {3}, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false, "
      "no_comm: true}}\n",
      axis, off, on, without);
}

// Two layers that are not launched in more time than they take.
const std::string kLarge =
    "model: {preset: llama3-8b, num_layers: 2, seq_length: 2048}\nrun: {backend: sim, hardware: h100-sxm}\n";

// Of the second of three cells.
report::CellSummary summary_of(const std::string& matrix) {
  return summarize(RunFolder(kLarge + matrix).measured())[1];
}

TEST(Rows, FiguresDoNotHangOnWhatAxesAreCalled) {
  const report::CellSummary named = summary_of(off_and_on("overlap", "off", "on", "no_comm"));
  const report::CellSummary unnamed = summary_of(off_and_on("alpha", "a", "b", "c"));
  ASSERT_TRUE(named.step_ratio_to_off && unnamed.step_ratio_to_off);
  EXPECT_EQ(unnamed.step_ratio_to_off->value, named.step_ratio_to_off->value);
  ASSERT_TRUE(named.efficiency && unnamed.efficiency);
  EXPECT_EQ(unnamed.efficiency->value, named.efficiency->value);
  EXPECT_EQ(unnamed.off_cell, "a");
  EXPECT_TRUE(unnamed.ratios_along.empty());
}

const std::string kTooManyRanks =
    "matrix:\n  tp: [{name: one}, {name: three, model.tensor_model_parallel_size: 3}, "
    "{name: two, model.tensor_model_parallel_size: 2}]\n";

TEST(Rows, SayWhyACellIsNotRunAndHoldTheOthers) {
  const RunFolder folder(sim_config(kTooManyRanks));
  const Outcome outcome = underlap_program(folder.arguments());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("note: skipping cell three: "));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("NOT RUN [1]: three: "), ContainsRegex("\nthree .*\\[1\\]")));
  const report::RunResults results = folder.results();
  ASSERT_EQ(results.cells.size(), 2U);
  EXPECT_EQ(results.cells[1].name, "two");
  EXPECT_FALSE(results.cells[1].samples.empty());
  ASSERT_EQ(results.refused.size(), 1U);
  EXPECT_THAT(results.refused[0].because, Each(HasSubstr("config.yaml:")));
  EXPECT_THAT(underlap_program({"show", folder.run(), "--csv"}).out, HasSubstr("\nthree,"));
}

// What is refused and how FLOPs are counted is no part of what was measured.
TEST(Rows, GoOnWithTheCellsThatCanBeRun) {
  const RunFolder folder(sim_config(kTooManyRanks));
  ASSERT_EQ(underlap_program(folder.arguments({"--blocks", "1"})).exit_code, 2);
  std::string more = sim_config(kTooManyRanks);
  more.replace(more.rfind(']'), 1, ", {name: five, model.tensor_model_parallel_size: 5}]");
  write_text(folder.config(), more);
  ASSERT_EQ(underlap_program(folder.arguments({"--blocks", "2", "--resume", "--flops", "causal"})).exit_code, 2);
  const report::RunResults results = folder.results();
  EXPECT_EQ(results.blocks_done, 2);
  EXPECT_EQ(results.refused.size(), 2U);
  EXPECT_EQ(results.info.flops, "causal");
}

// Ranks that are processes read the matrix again, and must number its cells alike.
TEST(Rows, HoldTheOthersWhereRanksAreProcesses) {
  const RunFolder folder(
      tiny_config("matrix:\n  x: [{name: bad, model.tensor_model_parallel_size: 3}, {name: without_text, "
                  "train.data: /none}, {name: good, data_parallel_size: 2}]\n"));
  const Outcome outcome = underlap_program(folder.arguments({"--rank-processes", "true", "--blocks", "1"}));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  const report::RunResults results = folder.results();
  ASSERT_EQ(results.cells.size(), 1U);
  EXPECT_EQ(results.cells[0].name, "good");
  EXPECT_EQ(results.refused.size(), 2U);
}

TEST(Rows, HaveTheShareOfTheDescribedPeak) {
  const RunFolder folder("model: {preset: tiny}\ndata_parallel_size: 2\nrun: {backend: sim, hardware: h100-sxm}\n");
  const report::CellSummary cell = summarize(folder.measured())[0];
  ASSERT_TRUE(cell.mfu);
  EXPECT_DOUBLE_EQ(*cell.mfu, *cell.tflops_per_gpu / 989);
}

TEST(Rows, OfTheHostHaveNoShareOfAPeak) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  const Outcome outcome = folder.measure({"--flops", "full+recompute"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("no MFU: "), HasSubstr("TFLOP/s a rank"), HasSubstr("full+recompute")));
  EXPECT_FALSE(summarize(folder.results())[0].mfu);
}

TEST(Rows, SayAtWhichSpeedTheyAreModelled) {
  const RunFolder folder(kLarge);
  folder.measure();
  const std::int64_t described_ns = folder.results().cells[0].samples[0].step_ns;
  const std::string slow = folder.folder / "slow";
  const Outcome outcome = underlap_program({"run", folder.config(), "-o", slow, "--speed", "0.5"});
  EXPECT_THAT(outcome.out, HasSubstr("link modelled: h100-sxm at speed 0.5: all times are simulated"));
  const report::RunResults results = report::read_results(slow);
  EXPECT_THAT(results.cells[0].plan_json, HasSubstr("run.speed"));
  EXPECT_EQ(results.cells[0].work.peak_tflops, 989) << "MFU is of the described peak";
  EXPECT_GT(results.cells[0].samples[0].step_ns, described_ns);
}

}  // namespace
}  // namespace underlap::bench
