// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/cell_summary.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "profiler/report/csv.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/report_tables.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

RunResults matrix() {
  RunResults results;
  results.blocks_planned = results.blocks_done = 3;
  results.cells = {steady("off fp32", {{"overlap", "off"}, {"fp32", "true"}}, split_of(600, 0, 400, 0)),
                   steady("on fp32", {{"overlap", "both"}, {"fp32", "true"}}, split_of(300, 350, 50, 0)),
                   steady("off bf16", {{"overlap", "off"}, {"fp32", "false"}}, split_of(600, 0, 200, 0)),
                   steady("none fp32", {{"overlap", "both"}, {"fp32", "true"}}, split_of(610, 0, 0, 0)),
                   steady("none off fp32", {{"overlap", "off"}, {"fp32", "true"}}, split_of(600, 0, 0, 0))};
  results.cells[3].no_comm = results.cells[4].no_comm = true;
  return results;
}

TEST(FindReferences, HoldsACellAgainstTheOffAndTheNoCommCellOfItsOwnPrecision) {
  const auto cells = matrix().cells;
  EXPECT_EQ(find_references(cells, 1).off, 0U);
  EXPECT_EQ(find_references(cells, 0).off, 0U);
  EXPECT_EQ(find_references(cells, 2).off, 2U);
  EXPECT_EQ(find_references(cells, 1).no_comm, 4U);
  EXPECT_EQ(find_references(cells, 2).no_comm, std::nullopt);
}

TEST(FindReferences, ReadsDottedPathsAndShortNamesAsToggles) {
  const std::vector<CellResult> cells{
      cell_of("a", {{"comm_overlap.overlap_grad_reduce", "false"}, {"param_gather", "off"}, {"x.size", "1"}}, {}),
      cell_of("b", {{"comm_overlap.overlap_grad_reduce", "true"}, {"param_gather", "off"}, {"x.size", "1"}}, {}),
      cell_of("c", {{"comm_overlap.overlap_grad_reduce", "true"}, {"param_gather", "on"}, {"x.size", "2"}}, {})};
  EXPECT_EQ(find_references(cells, 1).off, 0U);
  EXPECT_EQ(find_references(cells, 2).off, std::nullopt);
}

TEST(FindReferences, NoCommCellMayLackAnAxisOthersMayNot) {
  std::vector<CellResult> cells{cell_of("on", {{"overlap", "on"}, {"size", "1"}}, {}),
                                cell_of("off", {{"overlap", "off"}}, {}),
                                cell_of("compute", {{"run.no_comm", "true"}}, {})};
  cells[2].no_comm = true;
  EXPECT_EQ(find_references(cells, 0).off, std::nullopt);
  EXPECT_EQ(find_references(cells, 0).no_comm, 2U);
}

TEST(FindReferences, MatrixWithoutOverlapAxisHasNoOffCell) {
  const std::vector<CellResult> cells{cell_of("a", {{"size", "1"}}, {}), cell_of("b", {{"size", "2"}}, {})};
  EXPECT_EQ(find_references(cells, 0).off, std::nullopt);
}

TEST(FindReferences, BelievesThePlanAndNotTheNames) {
  auto cells = matrix().cells;
  for (CellResult& cell : cells) cell.references = PlannedReferences{};
  cells[1].references = PlannedReferences{.off = "off bf16", .no_comm = "none fp32", .overlaps = {"x"}};
  EXPECT_EQ(find_references(cells, 1).off, 2U);
  EXPECT_EQ(find_references(cells, 1).no_comm, 3U);
  EXPECT_EQ(find_references(cells, 0).off, std::nullopt);
}

// Cells a and b of an axis that is called after an overlap and is none.
TEST(PairsAlongAxes, AreThoseThatDoNotTurnOverlapOnOrOff) {
  std::vector<CellResult> cells{cell_of("a", {{"my_overlap", "1"}}, {}), cell_of("b", {{"my_overlap", "2"}}, {})};
  EXPECT_TRUE(pairs_along_axes(cells).empty()) << "by names";
  for (CellResult& cell : cells) cell.references = PlannedReferences{};
  EXPECT_EQ(pairs_along_axes(cells).size(), 1U);
  cells[1].references->overlaps = {"x"};
  EXPECT_EQ(pairs_along_axes(cells).size(), 1U) << "on two ranks there is more to overlap than on one";
  cells[0].references = cells[1].references = PlannedReferences{.off = "a", .no_comm = "", .overlaps = {}};
  cells[1].references->overlaps = {"x"};
  EXPECT_TRUE(pairs_along_axes(cells).empty()) << "b has an overlap that its off cell has not";
}

TEST(Summarize, GivesTheFiguresOfASteadyCell) {
  const CellSummary on = summarize(matrix())[1];
  EXPECT_EQ(on.off_cell, "off fp32");
  EXPECT_EQ(on.no_comm_cell, "none off fp32");
  EXPECT_EQ(on.steps, 6);
  EXPECT_DOUBLE_EQ(on.step_ms->value, 0.7);
  EXPECT_DOUBLE_EQ(on.step_ms->interval->low, 0.7);
  EXPECT_DOUBLE_EQ(on.comm_ms->value, 0.4);
  EXPECT_DOUBLE_EQ(on.exposed_ms->value, 0.05);
  EXPECT_DOUBLE_EQ(*on.overlap_pct, 87.5);
  EXPECT_DOUBLE_EQ(*on.bytes_on_wire, 4096);
  EXPECT_DOUBLE_EQ(*on.transfer_cpu_ms, 1);
  EXPECT_DOUBLE_EQ(on.step_ratio_to_off->value, 0.7);
  EXPECT_DOUBLE_EQ(on.efficiency->value, 0.75);  // ECT 0.1 of 0.4
  EXPECT_DOUBLE_EQ(on.purposes.at("grad_reduce_scatter").exposed_ms, 0.05);
  EXPECT_DOUBLE_EQ(on.purposes.at("grad_reduce_scatter").count, 2);
}

TEST(Summarize, OffCellAndNoCommCellAreNotHeldAgainstOff) {
  const auto summaries = summarize(matrix());
  EXPECT_FALSE(summaries[0].step_ratio_to_off);
  EXPECT_FALSE(summaries[0].efficiency);
  EXPECT_FALSE(summaries[3].step_ratio_to_off);
  EXPECT_FALSE(summaries[4].overlap_pct) << "no communication, no share of it";
}

TEST(Summarize, EfficiencyIsNegativeWhereOverlapLost) {
  RunResults results = matrix();
  for (StepSample& sample : results.cells[1].samples) sample.step_ns = 1'200'000;
  EXPECT_DOUBLE_EQ(summarize(results)[1].efficiency->value, -0.5);
}

TEST(Summarize, EfficiencyHasAnIntervalOverBlocks) {
  RunResults results = matrix();
  EXPECT_DOUBLE_EQ(summarize(results)[1].efficiency->interval->half_width(), 0) << "steady blocks";
  for (StepSample& sample : results.cells[1].samples)
    if (sample.block == 2) sample.step_ns = 900'000;  // ECT 0.1, 0.1 and 0.3 of 0.4
  const Estimate efficiency = *summarize(results)[1].efficiency;
  EXPECT_DOUBLE_EQ(efficiency.value, 0.75);
  // Blocks lie 0, 0 and 0.2 away from a quarter of 0.4: 0.0667 -+ 4.30265 * 0.11547 / 3^0.5, in 0.4.
  EXPECT_NEAR(efficiency.interval->low, 0.75 - (0.0666667 + 0.286843) / 0.4, 1e-5);
  EXPECT_NEAR(efficiency.interval->high, 0.75 - (0.0666667 - 0.286843) / 0.4, 1e-5);
  EXPECT_EQ(efficiency.blocks, 3);
  for (CellResult& cell : results.cells) cell.samples.resize(2);
  EXPECT_FALSE(summarize(results)[1].efficiency->interval) << "one block";
}

TEST(Summarize, EfficiencyTakesBlocksOfBothCellsTogether) {
  RunResults results = matrix();
  for (const std::size_t cell : {0, 1})
    for (StepSample& sample : results.cells[cell].samples)
      if (sample.block == 2) sample.step_ns = cell == 0 ? 1'100'000 : 725'000;  // ECT 0.125 of 0.5, else 0.1 of 0.4
  const Estimate efficiency = *summarize(results)[1].efficiency;
  EXPECT_NEAR(efficiency.interval->low, 0.75, 1e-12);
  EXPECT_NEAR(efficiency.interval->high, 0.75, 1e-12);
}

TEST(Summarize, HoldsTheStepAgainstTheIdealAndTheBoundWithAndWithoutTheTransfersCpu) {
  RunResults results = matrix();
  results.cells[0].bound_ideal_ns = 250'000;
  results.cells[0].bound_ns = 500'000;
  for (StepSample& sample : results.cells[0].samples) sample.transfer_cpu_ns = 300'000;
  const CellSummary off = summarize(results)[0];
  EXPECT_DOUBLE_EQ(*off.step_ratio_to_bound_ideal, 4);
  EXPECT_DOUBLE_EQ(*off.step_ratio_to_bound, 2);
  EXPECT_DOUBLE_EQ(*off.step_ratio_to_bound_and_cpu, 1.25);
  EXPECT_FALSE(summarize(results)[1].step_ratio_to_bound_ideal);
  EXPECT_FALSE(summarize(results)[1].step_ratio_to_bound_and_cpu) << "no bound";
}

TEST(PairsAlongAxes, FindsCellsThatDifferInOneAxisOfTwoValuesAlone) {
  const auto cells = matrix().cells;
  const std::vector<AxisPair> pairs = pairs_along_axes(cells);
  // off fp32 and none off fp32 both stand against off bf16; overlap is not such an axis.
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].axis, "fp32");
  EXPECT_EQ(pairs[0].cell, 0U);
  EXPECT_EQ(pairs[0].other, 2U);
  EXPECT_EQ(pairs[1].cell, 4U);
}

TEST(PairsAlongAxes, LeavesOutTogglesAndAxesOfOtherThanTwoValues) {
  const auto with = [](const std::string& axis, std::vector<std::string> values) {
    std::vector<CellResult> cells;
    for (const std::string& value : values) cells.push_back(cell_of(value, {{axis, value}}, {}));
    return pairs_along_axes(cells).size();
  };
  EXPECT_EQ(with("bucket_size", {"1", "2"}), 1U);
  EXPECT_EQ(with("bucket_size", {"1", "2", "3"}), 0U);
  EXPECT_EQ(with("bucket_size", {"1"}), 0U);
  EXPECT_EQ(with("comm_overlap.overlap_grad_reduce", {"true", "false"}), 0U);
  EXPECT_EQ(with("run.no_comm", {"true", "false"}), 0U);
}

TEST(PairsAlongAxes, CellsWithoutTheAxisHaveNoPair) {
  const std::vector<CellResult> cells{
      cell_of("a", {{"overlap", "on"}}, {}), cell_of("b", {{"overlap", "on"}, {"size", "1"}}, {}),
      cell_of("c", {{"overlap", "on"}, {"size", "2"}}, {}), cell_of("d", {{"overlap", "off"}, {"size", "2"}}, {})};
  const std::vector<AxisPair> pairs = pairs_along_axes(cells);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].cell, 1U);
  EXPECT_EQ(pairs[0].other, 2U);
}

TEST(Summarize, TakesRatiosAlongAnAxisFromItsFirstValueToItsSecond) {
  RunResults results;
  results.cells = {steady("a", {{"trace", "true"}}, split_of(303, 0, 0, 0)),
                   steady("b", {{"trace", "false"}}, split_of(300, 0, 0, 0))};
  const auto summaries = summarize(results);
  const AxisRatio& ratio = summaries[0].ratios_along.at("trace");
  EXPECT_EQ(ratio.other_cell, "b");
  EXPECT_DOUBLE_EQ(ratio.step_ratio.value, 1.01);
  EXPECT_TRUE(ratio.is_resolved);
  EXPECT_EQ(ratio.blocks_needed, 3);
  EXPECT_TRUE(summaries[1].ratios_along.empty());
}

TEST(FindReferences, RecordingKeepsNoCellFromItsReference) {
  std::vector<CellResult> cells{cell_of("on", {{"overlap", "on"}, {"trace", "false"}}, {}),
                                cell_of("off", {{"overlap", "off"}, {"trace", "true"}}, {}),
                                cell_of("none", {{"overlap", "off"}, {"trace", "true"}}, {})};
  cells[2].no_comm = true;
  EXPECT_EQ(find_references(cells, 0).off, 1U);
  EXPECT_EQ(find_references(cells, 0).no_comm, 2U);
  // Where a cell that records alike can be had, that one.
  cells.push_back(cell_of("off", {{"overlap", "off"}, {"trace", "false"}}, {}));
  cells.push_back(cell_of("none", {{"overlap", "off"}, {"trace", "false"}}, {}));
  cells[4].no_comm = true;
  EXPECT_EQ(find_references(cells, 0).off, 3U);
  EXPECT_EQ(find_references(cells, 0).no_comm, 4U);
  EXPECT_EQ(find_references(cells, 1).off, 1U);
}

TEST(Summarize, EfficiencyIsAbsentWhereOffIsNotClearlySlowerThanComputeAlone) {
  RunResults results = matrix();
  for (StepSample& sample : results.cells[0].samples) sample.step_ns = 603'000;  // 0.5 % above compute alone
  EXPECT_FALSE(summarize(results)[1].efficiency);
  results = matrix();
  for (StepSample& sample : results.cells[0].samples)
    if (sample.block == 2) sample.step_ns = 500'000;  // one block of three says the contrary
  EXPECT_FALSE(summarize(results)[1].efficiency);
}

// Steps with and without transfers that differ by noise alone: a ratio of two of these differences means nothing.
TEST(Summarize, EfficiencyOfNoiseIsAbsent) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> noise(600'000, 30'000);
  for (const std::int32_t blocks : {2, 3, 4, 5, 6, 7}) {
    int told = 0;
    constexpr int kRuns = 400;
    for (int run = 0; run < kRuns; ++run) {
      RunResults results = matrix();
      for (const std::size_t cell : {0, 1, 4}) {
        std::vector<StepSample>& samples = results.cells[cell].samples;
        samples.resize(1, samples.front());
        samples.resize(static_cast<std::size_t>(blocks), samples.front());
        for (std::int32_t block = 0; block < blocks; ++block) {
          samples[static_cast<std::size_t>(block)].block = block;
          samples[static_cast<std::size_t>(block)].step_ns = std::llround(noise(engine));
        }
      }
      told += summarize(results)[1].efficiency.has_value();
    }
    EXPECT_LE(told, 0.05 * kRuns) << blocks << " blocks";
  }
}

TEST(Summarize, WorstRankIsTakenStepByStep) {
  RunResults results;
  results.cells = {cell_of("a", {},
                           {step_of(0, 0, {split_of(90, 0, 10, 0), split_of(40, 0, 60, 0)}),
                            step_of(0, 1, {split_of(30, 0, 70, 0), split_of(80, 0, 20, 0)})})};
  const CellSummary summary = summarize(results)[0];
  EXPECT_DOUBLE_EQ(summary.exposed_worst_ms->value, 0.065);
  EXPECT_DOUBLE_EQ(summary.exposed_ms->value, 0.04);
  EXPECT_FALSE(summary.step_ms->interval) << "one block";
}

TEST(Summarize, CellsWithoutRecorderOrSamplesHaveNoSuchFigures) {
  RunResults results = matrix();
  for (StepSample& sample : results.cells[1].samples) sample.ranks.clear();
  results.cells[2].samples.clear();
  results.cells[1].bound_ns = 350'000;
  const auto summaries = summarize(results);
  EXPECT_FALSE(summaries[1].exposed_ms);
  EXPECT_FALSE(summaries[1].bytes_on_wire);
  EXPECT_DOUBLE_EQ(summaries[1].step_ratio_to_off->value, 0.7);
  EXPECT_DOUBLE_EQ(*summaries[1].step_ratio_to_bound, 2);
  EXPECT_FALSE(summaries[2].step_ms);
  EXPECT_FALSE(summaries[2].final_loss);
}

TEST(Summarize, TellsWaitDependencyAndTransferOfEachMode) {
  RunResults results = matrix();
  for (StepSample& sample : results.cells[1].samples)
    for (analysis::Split& split : sample.ranks)
      split.modes["pp"] = {.comm_ns = 80'000,
                           .exposed_ns = 60'000,
                           .hidden_ns = 20'000,
                           .exposed_wait_ns = 40'000,
                           .pipeline_dependency_ns = 30'000,
                           .exposed_transfer_ns = 20'000,
                           .bytes_on_wire = 512,
                           .count = 4};
  const auto modes = summarize(results)[1].modes;
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_DOUBLE_EQ(modes.at("dp").exposed_transfer_ms, 0.05);
  EXPECT_DOUBLE_EQ(modes.at("pp").exposed_ms, 0.06);
  EXPECT_DOUBLE_EQ(modes.at("pp").exposed_wait_ms, 0.04);
  EXPECT_DOUBLE_EQ(modes.at("pp").pipeline_dependency_ms, 0.03);
  EXPECT_DOUBLE_EQ(modes.at("pp").exposed_transfer_ms, 0.02);
  EXPECT_DOUBLE_EQ(modes.at("pp").bytes_on_wire, 512);
  EXPECT_DOUBLE_EQ(modes.at("pp").count, 4);
}

TEST(Summarize, FinalLossIsOfTheLastStepWhateverTheOrderOfSamples) {
  RunResults results = matrix();
  results.cells[0].samples[5].loss = 1.25;
  std::swap(results.cells[0].samples[0], results.cells[0].samples[5]);
  EXPECT_DOUBLE_EQ(*summarize(results)[0].final_loss, 1.25);
}

const StepWork kWork{
    .tokens = 4000, .flops = {{"full", 8e15}, {"causal", 6e15}}, .peak_tflops = 1000, .peak_of = "a GPU, bf16"};

// A step of 10 ms on four ranks.
RunResults modelled() {
  RunResults results;
  results.info.backend = Backend::sim;
  results.info.link = "modelled: a GPU";
  results.blocks_planned = results.blocks_done = 1;
  results.cells = {cell_of("all", {}, {step_of(0, 0, {split_of(6000, 0, 4000, 0)})})};
  results.cells[0].num_ranks = 4;
  results.cells[0].work = kWork;
  results.cells[0].peak_memory_bytes = 61'230'000'000;
  return results;
}

TEST(Rates, AreOfOneConventionAndOneRank) {
  const StepRates full = rates_of(kWork, 4, 4, "full").value(), causal = rates_of(kWork, 4, 4, "causal").value();
  EXPECT_DOUBLE_EQ(full.tokens_per_s, 1000);
  EXPECT_DOUBLE_EQ(full.tflops_per_gpu, 500);
  EXPECT_DOUBLE_EQ(full.mfu.value(), 0.5);
  EXPECT_DOUBLE_EQ(causal.mfu.value(), 0.375);
}

TEST(Rates, AreNoneWhereTheWorkIsNotKnown) {
  EXPECT_FALSE(rates_of({}, 4, 4, "full"));
  EXPECT_FALSE(rates_of(kWork, 0, 4, "full")) << "results of before ranks were counted";
  EXPECT_FALSE(rates_of(kWork, 4, 0, "full"));
  EXPECT_FALSE(rates_of(kWork, 4, 4, "banana"));
  StepWork of_host = kWork;
  of_host.peak_tflops = 0;
  EXPECT_FALSE(rates_of(of_host, 4, 4, "full")->mfu);
}

TEST(Rates, StandInEveryReportWithWhatTheyCount) {
  RunResults results = modelled();
  EXPECT_THAT(report_markdown(results),
              AllOf(HasSubstr("## Rates\n\nTokens/s of all ranks; FLOPs counted as full (the full attention matrix, "
                              "without recomputation); MFU relative to 1000 TFLOP/s (a GPU, bf16); "),
                    HasSubstr("| all | 400000 | 200000 | 20000.0 | 61.2 |")));
  results.info.flops = "causal";
  const std::string text = run_text(results, {.width = 80}, Details::left_out);
  EXPECT_THAT(text, AllOf(HasSubstr("counted as causal"), ContainsRegex("\nall +400000 +150000 +15000.0 +61.2\n")));
  EXPECT_THAT(report_csv(results), AllOf(HasSubstr("tokens_per_s"), HasSubstr("mfu_ratio"), HasSubstr("causal")));
}

TEST(Rates, AreLeftOutOfResultsOfBeforeTheyWereKept) {
  RunResults results = modelled();
  results.cells[0].work = {};
  EXPECT_THAT(report_markdown(results), Not(HasSubstr("## Rates")));
  EXPECT_THAT(run_text(results, {.width = 80}, Details::left_out), Not(HasSubstr("tokens/s")));
}

TEST(Notes, AreNumberedAndStandInTheRowsThatTheyHoldFor) {
  RunResults results = modelled();
  results.cells.push_back(results.cells[0]);
  results.cells[1].name = "plain";
  results.cells.push_back(results.cells[0]);
  results.cells[2].name = "other";
  results.cells[0].not_as_requested = {"x was requested as true and is false: y", "z"};
  results.cells[2].not_as_requested = {"x was requested as true and is false: y"};
  results.refused = {{"huge", {{"size", "9"}}, {"f:1:2: too large; take less"}}};
  const CellNotes notes = notes_of(results);
  EXPECT_THAT(notes.lines, ElementsAre("NOT RUN [1]: huge: f:1:2: too large; take less",
                                       "NOT AS REQUESTED [2]: all and 1 more: x was requested as true and is false: y",
                                       "NOT AS REQUESTED [3]: all: z"));
  EXPECT_EQ(notes.of("all"), "[2] [3]");
  EXPECT_EQ(notes.of("plain"), "-");
  for (const std::string& text :
       {run_text(results, {.width = 80}, Details::left_out), run_text(results, {.width = 200}, Details::included)}) {
    EXPECT_THAT(text, ContainsRegex("\nall +\\[2\\] \\[3\\] "));
    EXPECT_THAT(text, ContainsRegex("\nhuge +\\[1\\] +- "));
    EXPECT_LT(text.find("NOT RUN [1]"), text.find("\nall "));
  }
}

}  // namespace

}  // namespace underlap::report
