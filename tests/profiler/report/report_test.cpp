// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "profiler/report/page/run_page.hpp"
#include "profiler/report/report_tables.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

RunResults measured() {
  RunResults results;
  results.info.command = "underlap run a.yaml";
  results.info.commit = "abc123";
  results.info.version = "0.1.0";
  results.info.backend = Backend::host;
  results.info.link = "paced to 4 Gbit/s";
  results.blocks_planned = 5;
  results.blocks_done = 2;
  results.cells = {
      cell_of("off", {{"overlap", "off"}},
              {step_of(0, 0, {split_of(6000, 0, 4000, 0)}), step_of(1, 1, {split_of(6000, 0, 4200, 0)})}),
      cell_of("on", {{"overlap", "on"}},
              {step_of(0, 0, {split_of(3000, 3500, 500, 1)}), step_of(1, 1, {split_of(3000, 3500, 500, 2)})})};
  for (CellResult& cell : results.cells) cell.paced = true;
  results.cells[0].label = NumericsLabel::reference;
  results.cells[1].label = NumericsLabel::bit_identical;
  return results;
}

// A matrix whose table is as wide as that of bench/matrices/quick.yaml.
RunResults wide() {
  RunResults results = measured();
  results.cells[0].name = "off grad_reduce_in_fp32=false";
  results.cells[0].label = NumericsLabel::lower_precision;
  results.cells[0].max_loss_difference = 1e-4;
  results.cells[1].name = "no_comm grad_reduce_in_fp32=true";
  for (CellResult& cell : results.cells) cell.bound_ns = 4'000'000;
  return results;
}

// Six blocks like the two of measured().
RunResults measured_often() {
  RunResults results = measured();
  results.blocks_planned = results.blocks_done = 6;
  for (CellResult& cell : results.cells)
    while (cell.samples.size() < 6) {
      StepSample next = cell.samples[cell.samples.size() - 2];
      next.block = next.step = static_cast<std::int32_t>(cell.samples.size());
      cell.samples.push_back(next);
    }
  return results;
}

RunResults traced_and_not() {
  RunResults results = measured();
  results.cells = {cell_of("trace=true", {{"trace", "true"}},
                           {step_of(0, 0, {split_of(10000, 0, 0, 0)}), step_of(1, 1, {split_of(10180, 0, 0, 0)})}),
                   cell_of("trace=false", {{"trace", "false"}},
                           {step_of(0, 0, {split_of(10000, 0, 0, 0)}), step_of(1, 1, {split_of(10000, 0, 0, 0)})})};
  return results;
}

std::string table(const RunResults& results) { return report_table(results, {.width = 200}); }

std::vector<std::string> table_and_markdown(const RunResults& results) {
  return {table(results), report_markdown(results)};
}

std::string brief(const RunResults& results, int width = 200) {
  return run_text(results, {.width = width}, Details::left_out);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_width(const std::string& text, std::size_t width) {
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), width) << line;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text))
    if (line.find(part) != std::string::npos) return line;
  return "no line with " + part;
}

TEST(ReportTable, SaysTheLinkOnceAndThatTransfersOfTheHostTakeCoresFromCompute) {
  const std::string host = table(measured());
  EXPECT_THAT(host, HasSubstr("paced to 4 Gbit/s: transfers run on the cores that compute uses"));
  EXPECT_THAT(host, Not(HasSubstr("(paced)"))) << "not in every row";
  RunResults other = measured();
  other.info.backend = Backend::cuda;
  EXPECT_THAT(table(other), Not(HasSubstr("cores")));
}

TEST(ReportTable, SaysHowManyRanksWerePlayedForHowMany) {
  RunResults results = measured();
  results.cells[0].num_ranks = results.cells[0].num_ranks_played = 4;
  results.cells[1].num_ranks = 16384;
  results.cells[1].num_ranks_played = 16;
  for (const std::string& text : table_and_markdown(results)) {
    EXPECT_THAT(text,
                HasSubstr("measured: 16 of 16384 ranks in 1 of the cells, one for each set of identical ranks\n"));
    EXPECT_THAT(text, Not(HasSubstr("4 of 4 ranks")));
  }
}

TEST(ReportTable, SaysHowFarModelledStepsWereFromPublishedOnes) {
  RunResults results = measured();
  EXPECT_THAT(brief(results), Not(HasSubstr("Accuracy")));
  results.info.backend = Backend::sim;
  results.info.link = "modelled: h100-sxm at speed 0.75";
  EXPECT_THAT(brief(results),
              HasSubstr("Accuracy: compared with published steps on such machines, simulated steps are "));
  EXPECT_THAT(report_markdown(results), HasSubstr(" rows: Megatron-Core, weak scaling on H100, bf16"));
  results.info.link = "modelled: mine.yaml";
  EXPECT_THAT(brief(results), Not(HasSubstr("Accuracy")));
  EXPECT_THAT(report_markdown(results), Not(HasSubstr("## Accuracy")));
}

TEST(ReportTable, ShowsNoLossOfACellWithoutTransfersWhateverItComputed) {
  RunResults results = measured();
  results.cells[1].no_comm = true;
  for (StepSample& sample : results.cells[1].samples) sample.loss = -std::nan("");
  for (const std::string& text : table_and_markdown(results)) {
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, HasSubstr("2.5000")) << "the other cell's loss";
  }
}

TEST(ReportTable, SaysThatNoCommitHoldsTheProgramThatRan) {
  RunResults results = measured();
  for (const std::string& text : table_and_markdown(results)) EXPECT_THAT(text, Not(HasSubstr("NOT RECORDED")));
  results.info.commit += "-dirty";
  for (const std::string& text : table_and_markdown(results))
    EXPECT_THAT(text, HasSubstr("NOT RECORDED: abc123-dirty: the program was built with uncommitted changes"));
}

TEST(ReportTable, SaysWhichCellsNoModelledGpuCouldHold) {
  RunResults results = measured();
  results.cells[0].peak_memory_bytes = results.cells[0].device_memory_bytes = 80'000'000'000;
  results.cells[1].peak_memory_bytes = 159'545'819'136;
  results.cells[1].device_memory_bytes = 80'000'000'000;
  results.cells[1].memory_advice = "--layers 48 is predicted to fit";
  for (const std::string& text : table_and_markdown(results)) {
    EXPECT_THAT(text, HasSubstr("DOES NOT FIT: on: a rank needs 159.5 GB (predicted), a GPU has 80.0 GB "
                                "(--layers 48 is predicted to fit)\n"));
    EXPECT_THAT(text, Not(HasSubstr("DOES NOT FIT: off")));
  }
}

TEST(ReportTable, SaysOnceWhatSeveralCellsNeed) {
  RunResults results = measured();
  for (CellResult& cell : results.cells) {
    cell.peak_memory_bytes = 90'000'000'000;
    cell.device_memory_bytes = 80'000'000'000;
    cell.memory_advice = "fewer";
  }
  EXPECT_THAT(table(results), HasSubstr("DOES NOT FIT: off and 1 more: a rank needs 90.0 GB (predicted), a GPU has "
                                        "80.0 GB (fewer)\n"));
  EXPECT_THAT(table(results), Not(HasSubstr("DOES NOT FIT: on")));
}

TEST(ReportTable, ShowsIntervalsAndWhatOneBlockCannotGive) {
  EXPECT_THAT(table(measured()), HasSubstr("10.10 [8.91, 11.45]"));
  RunResults one = measured();
  one.blocks_done = 1;
  for (CellResult& cell : one.cells) cell.samples.resize(1);
  EXPECT_THAT(table(one), HasSubstr("10.00 "));
  EXPECT_THAT(table(one), HasSubstr("1 of 5 blocks; one block gives no interval"));
  EXPECT_THAT(report_html(one), HasSubstr("1 of 5 blocks; one block gives no interval. Commit"));
  one.blocks_done = 5;
  EXPECT_EQ(interval_note(one), "95 % intervals assume normally distributed noise between blocks");
  one.blocks_done = 6;
  EXPECT_EQ(interval_note(one), "");
}

TEST(ReportTable, KeepsStepExposureAndOverlapInEightyColumns) {
  const std::string text = report_table(wide(), {.width = 80});
  for (const char* words : {"step ms [95 %]", "exposed ms", "overlap %", "not shown in 80 columns: loss"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_THAT(text, Not(HasSubstr("step/bound in parentheses"))) << "the bound is not shown";
}

TEST(ReportTable, ShowsAllThatACellIsJudgedByIn160Columns) {
  const std::string text = report_table(wide(), {.width = 160});
  const std::string titles = line_with(text, "step ms");
  for (const char* title :
       {"step ms [95 %]", "step/off [95 %]", "exposed ms", "comm ms", "overlap %", "wire MB", "step/bound", "numerics"})
    EXPECT_THAT(titles, HasSubstr(title));
  EXPECT_THAT(text, HasSubstr("step/bound in parentheses"));
  const std::string row = line_with(text, "off grad_reduce_in_fp32=false");
  EXPECT_THAT(row, HasSubstr("lower_precision 1.0e-04"));
  EXPECT_THAT(row, HasSubstr("2.52 (2.02)")) << "step 10.1 ms, bound 4 ms, CPU 1 ms";
  EXPECT_THAT(row, HasSubstr("0.0041")) << "MB on the wire";
}

TEST(ReportTable, ShowsDigitsAsTheStepsAreLong) {
  RunResults results = measured();
  for (CellResult& cell : results.cells)
    for (StepSample& sample : cell.samples) sample.step_ns *= 20;
  EXPECT_THAT(table(results), HasSubstr("202.0 [178.1, 229.1]"));
  for (CellResult& cell : results.cells)
    for (StepSample& sample : cell.samples) sample.step_ns /= 400;
  EXPECT_THAT(table(results), HasSubstr("0.505 [0.445, 0.573]"));
}

TEST(ReportTable, ComparesStepsAlongAnAxisOfTwoValues) {
  const std::string text = report_table(traced_and_not(), {.width = 160});
  EXPECT_THAT(text, HasSubstr("Ratios along trace: step with true / step with false\n"));
  const std::string row = line_with(text, "all ");
  EXPECT_THAT(row, HasSubstr("1.009 [0.901, 1.130]"));
  EXPECT_THAT(report_table(measured(), {.width = 160}), Not(HasSubstr("Ratios along"))) << "overlap has its own column";
  EXPECT_THAT(report_markdown(traced_and_not()), HasSubstr("| all | 1.009 [0.901, 1.130] | 11.46 | no | 15 |"));
}

TEST(ReportTable, NamesAPairByWhatBothCellsHaveInCommon) {
  RunResults results = measured();
  for (const char* fp32 : {"true", "false"}) {
    CellResult cell = results.cells[1];
    cell.name = std::string("both grad_reduce_in_fp32=") + fp32 + " prefetch=true";
    cell.values = {{"overlap", "both"}, {"grad_reduce_in_fp32", fp32}, {"prefetch", "true"}};
    results.cells.push_back(cell);
  }
  EXPECT_THAT(report_markdown(results),
              HasSubstr("Ratios along grad_reduce_in_fp32: step with true / step with false"));
  EXPECT_THAT(report_markdown(results), HasSubstr("| both prefetch=true | 1.000 [1.000, 1.000] | 0.00 | yes | 2 |"));
}

TEST(ReportTable, HoldsTheStepAgainstTheIdealOnlyInResultsThatHaveIt) {
  RunResults results = wide();
  EXPECT_THAT(report_table(results, {.width = 240}), Not(HasSubstr("step/ideal")));
  results.cells[0].bound_ideal_ns = 2'000'000;
  const std::string text = report_table(results, {.width = 240});
  EXPECT_THAT(line_with(text, "step ms"), HasSubstr("step/bound  step/ideal  numerics"));
  EXPECT_THAT(line_with(text, "off grad_reduce_in_fp32=false"), HasSubstr("5.05")) << "step 10.1 ms, ideal 2 ms";
}

TEST(ReportTable, SaysHowManyBlocksWouldResolveOnePercent) {
  RunResults results = traced_and_not();
  results.cells[0].samples[1].step_ns = 10'500'000;
  EXPECT_THAT(report_markdown(results), HasSubstr("| 1.025 [0.752, 1.397] | 32.27 | no | 83 |"));
  for (CellResult& cell : results.cells) cell.samples.resize(1);
  EXPECT_THAT(report_markdown(results), HasSubstr("| 1.000 | - | no | - |"));
}

TEST(ReportTable, NamesALossThatIsNotFinite) {
  RunResults results = measured();
  for (CellResult& cell : results.cells) cell.label = NumericsLabel::reference;
  results.cells[1].samples[1].loss = std::nan("");
  for (const std::string& text : table_and_markdown(results))
    EXPECT_THAT(text, HasSubstr("MISMATCH: on: the loss is NaN in block "));
  results.cells[1].label = NumericsLabel::not_checked;
  EXPECT_THAT(table(results), Not(HasSubstr("MISMATCH")));
}

TEST(ReportTable, CallsAMismatchByItsName) {
  RunResults results = measured();
  results.cells[1].label = NumericsLabel::mismatch;
  results.cells[1].max_loss_difference = 0.25;
  EXPECT_THAT(table(results), HasSubstr("MISMATCH: on: the losses differ from the reference by 2.5e-01"));
  EXPECT_THAT(report_markdown(results), HasSubstr("MISMATCH: on"));
}

TEST(ReportTable, StandsWithoutAnySample) {
  RunResults results = measured();
  results.blocks_done = 0;
  for (CellResult& cell : results.cells) cell.samples.clear();
  EXPECT_THAT(report_table(results, {.width = 100}), HasSubstr("0 of 5 blocks"));
  EXPECT_THAT(report_markdown(results), Not(HasSubstr("Where the time went")));
  EXPECT_NO_THROW(report_table(RunResults{}, {.width = 100}));
}

TEST(ReportMarkdown, TellsWhereTheTimeWentToTheNanosecond) {
  // Window 10100 -> 7001.5; compute 6000 -> 6500, exposed 4100 -> 500, idle 0 -> 1.5 microseconds.
  EXPECT_THAT(report_markdown(measured()),
              HasSubstr("| off | on | -3.098500 | +0.500000 | -3.600000 | +0.000000 | +0.001500 |"));
}

TEST(ReportDetails, ShowModesChangesAndExcessIn160Columns) {
  RunResults results = measured();
  for (CellResult& cell : results.cells) {
    cell.bound_ns = 7'000'000;
    cell.bound_kernel_ns["fc1"] = 6'000'000;
    cell.kernel_ns["fc1"] = 2 * 6'500'000;
  }
  for (StepSample& sample : results.cells[1].samples)
    sample.ranks[0].modes["pp"] = {.comm_ns = 900'000,
                                   .exposed_ns = 900'000,
                                   .exposed_wait_ns = 600'000,
                                   .pipeline_dependency_ns = 500'000,
                                   .exposed_transfer_ns = 300'000};
  results.cells[1].compute_since_off = ComputeSinceOff{
      "off", 2, {.from = {.same_kernels_ns = 12'000'000}, .to = {12'400'000, 800'000, 200'000}, .purposes = {}}};
  const std::string text = run_text(results, {.width = 160}, Details::included);
  EXPECT_THAT(line_with(text, "pp"), MatchesRegex("on +pp +0 +0.00 +0.900 +0.900 +0.600 +0.500 +0.300"));
  EXPECT_THAT(
      line_with(text, "-3.098500"),
      MatchesRegex("off +on +-3.098500 +.0.500000 +-3.600000 +.0.000000 +.0.001500 +.0.200000 +.0.400000 +.0.100000"));
  EXPECT_THAT(line_with(text, "exposed grad_reduce_scatter 4.100"),
              MatchesRegex("off +.3.100000 +.0.500000 .*exposed grad_reduce_scatter 4.100, longer"))
      << "names take more lines, so that all parts that add up have their column";
  expect_width(text, 160);
}

TEST(ReportDetails, FitEightyColumnsWithoutCuttingNames) {
  RunResults results = wide();
  results.cells[1].name = "params grad_reduce_in_fp32=true";
  for (CellResult& cell : results.cells) {
    cell.bound_kernel_ns["fc1"] = 3'000'000;
    cell.kernel_ns["fc1"] = 2 * 6'500'000;
  }
  const std::string text = run_text(results, {.width = 80}, Details::included);
  expect_width(text, 80);
  const std::string tables = text.substr(text.find("Communication by mode"));
  EXPECT_THAT(tables, HasSubstr("Excess over bound_schedule"));
  std::istringstream words(tables);
  int whole = 0;
  for (std::string word; words >> word;) {
    EXPECT_FALSE(word.starts_with("grad_red") && word.size() < 16) << word << " is cut";
    whole += word == "grad_reduce_in_fp32=true" ? 1 : 0;
  }
  EXPECT_GE(whole, 3);
}

TEST(RunText, HasTheDetailsWhereTheyAreAskedFor) {
  const std::string all = run_text(measured(), {.width = 160}, Details::included);
  for (const char* title : {"wire MB", "Communication by mode", "Communication by purpose", "Where the time went"}) {
    EXPECT_THAT(all, HasSubstr(title));
    EXPECT_THAT(brief(measured(), 160), Not(HasSubstr(title)));
  }
}

TEST(RunText, AnswersBeforeItShowsATable) {
  const std::string text = brief(measured_often(), 160);
  const std::size_t answer =
      text.find("on: 30.7 % faster [30.0, 31.4]; hides 88 % of dp communication; 0.50 ms stay exposed");
  ASSERT_NE(answer, std::string::npos) << text;
  EXPECT_LT(answer, text.find("step ms"));
  EXPECT_THAT(brief(traced_and_not(), 160), Not(HasSubstr("faster")));
}

TEST(RunText, WarnsOfAMachineThatWasBusyWithOthers) {
  RunResults results = measured();
  // Of two CPUs, in seconds of processor time.
  const auto load = [](std::int32_t block, std::int64_t own, std::int64_t other, std::int64_t stolen) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return BlockLoad{block, 2, 10 * kSecond, own * kSecond, other * kSecond, stolen * kSecond};
  };
  results.load = {load(0, 15, 1, 0), load(1, 14, 2, 0)};
  EXPECT_THAT(brief(results), Not(HasSubstr("BUSY")));
  results.load = {load(0, 15, 1, 0), load(1, 8, 8, 2)};
  for (const std::string& text : {brief(results), report_markdown(results)}) {
    EXPECT_THAT(text, HasSubstr("BUSY MACHINE: other processes took 22 % of its 2 CPUs while steps were measured, 40 % "
                                "in block 1\n"));
    EXPECT_THAT(text, HasSubstr("the hypervisor gave 5 % of the CPUs to other guests"));
  }
}

TEST(RunText, KeepsWhatACellIsJudgedByInEightyColumns) {
  const std::string text = brief(wide(), 80);
  const std::string titles = line_with(text, "step ms");
  for (const char* title : {"cell", "step ms", "step/off", "exposed ms", "overlap %"})
    EXPECT_THAT(titles, HasSubstr(title));
  expect_width(text, 80);
  EXPECT_EQ(text.find("not shown"), text.rfind("not shown")) << "one note";
}

TEST(RunText, ShowsTheForemostOfManyPairsAndSaysHowManyMoreThereAre) {
  RunResults results = measured_often();
  for (int i = 0; i < 11; ++i) {
    CellResult cell = results.cells[1];
    cell.name = fmt::format("on{}", i);
    cell.values = {{"overlap", cell.name}};
    results.cells.push_back(cell);
  }
  const std::string foremost = brief(results, 160);
  EXPECT_THAT(foremost, HasSubstr("overlap on vs. off in 12 pairs: faster in 12"));
  EXPECT_THAT(foremost, HasSubstr("\n2 more pairs; --details shows all\n"));
  EXPECT_THAT(foremost, Not(HasSubstr("- on10: ")));
  const std::string all = run_text(results, {.width = 160}, Details::included);
  EXPECT_THAT(all, HasSubstr("- on10: "));
  EXPECT_THAT(all, Not(HasSubstr("more pairs")));
}

TEST(RunText, ShowsNoIntervalOfModelledBlocksThatAreEqual) {
  RunResults results = measured();
  results.info.backend = Backend::sim;
  for (CellResult& cell : results.cells)
    for (StepSample& sample : cell.samples) sample.step_ns = cell.name == "on" ? 7'000'003 : 10'000'007;
  for (const std::string& text :
       {brief(results, 240), run_text(results, {.width = 240}, Details::included), report_markdown(results)}) {
    EXPECT_THAT(text, HasSubstr("on: simulated 30.0 % faster; hides")) << "no interval";
    EXPECT_THAT(text, HasSubstr("2 of 5 blocks"));
    for (const char* words : {"[7.00", "[0.700", "hold the truth", "step ms [95 %]"})
      EXPECT_THAT(text, Not(HasSubstr(words)));
  }
}

TEST(ReportMarkdown, HasCommandCommitPurposesAndTheWayToTheDefinitions) {
  const std::string text = report_markdown(measured_often());
  for (const char* words :
       {"`underlap run a.yaml`", "0.1.0, commit abc123", "**Link: paced to 4 Gbit/s: transfers run",
        "\n**Found: on: 30.7 % faster [30.0, 31.4]; ",
        "| on | grad_reduce_scatter | 2 | 0.0041 | 4.000 | 0.500 | 0.000 | 0.500 |", "bench/METRICS.md"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(ReportMarkdown, IsWrittenBesideTheResults) {
  const testing_support::TemporaryFolder folder;
  write_report(folder / "", measured());
  EXPECT_EQ(testing_support::read_text(folder / "report.md"), report_markdown(measured()));
}

}  // namespace
}  // namespace underlap::report
