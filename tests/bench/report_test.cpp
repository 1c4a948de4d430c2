// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/report_tables.hpp"
#include "tests/bench/sample_results.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunResults measured() {
  RunResults results;
  results.info.command = "underlap run a.yaml";
  results.info.commit = "abc123";
  results.info.version = "0.1.0";
  results.info.backend = "host";
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

TEST(ReportTable, SaysThatThePacedLinkTakesCoresFromCompute) {
  const std::string paced = report_table(measured(), 200, false);
  EXPECT_THAT(paced, HasSubstr("paced to 4 Gbit/s: loopback; the transfer burns the cores that compute needs"));
  EXPECT_THAT(paced, HasSubstr("off (paced)"));
  RunResults real = measured();
  for (CellResult& cell : real.cells) cell.paced = false;
  EXPECT_THAT(report_table(real, 200, false), Not(HasSubstr("burns")));
}

TEST(ReportTable, ShowsIntervalsAndWhatTooFewBlocksCannotGive) {
  EXPECT_THAT(report_table(measured(), 200, false), HasSubstr("10.10 [10.00, 10.20]"));
  EXPECT_THAT(report_table(measured(), 200, false),
              HasSubstr("2 of 5 blocks; intervals over so few hold the truth 50.0 %"));
  RunResults one = measured();
  one.blocks_done = 1;
  for (CellResult& cell : one.cells) cell.samples.resize(1);
  EXPECT_THAT(report_table(one, 200, false), HasSubstr("10.00 [-]"));
  EXPECT_THAT(report_table(one, 200, false), HasSubstr("1 of 5 blocks; one block gives no interval"));
}

TEST(ReportTable, KeepsStepExposureAndOverlapInEightyColumns) {
  const std::string text = report_table(measured(), 80, false);
  EXPECT_THAT(text, HasSubstr("step ms [95 %]"));
  EXPECT_THAT(text, HasSubstr("exposed ms"));
  EXPECT_THAT(text, HasSubstr("overlap %"));
  EXPECT_THAT(text, HasSubstr("not shown in 80 columns: loss diff"));
}

TEST(ReportTable, CallsAMismatchByItsName) {
  RunResults results = measured();
  results.cells[1].label = NumericsLabel::mismatch;
  results.cells[1].max_loss_difference = 0.25;
  EXPECT_THAT(report_table(results, 200, false),
              HasSubstr("MISMATCH: on: the losses differ from the reference's by 2.5e-01"));
  EXPECT_THAT(report_markdown(results), HasSubstr("MISMATCH: on"));
}

TEST(ReportTable, StandsWithoutAnySample) {
  RunResults results = measured();
  results.blocks_done = 0;
  for (CellResult& cell : results.cells) cell.samples.clear();
  EXPECT_THAT(report_table(results, 100, false), HasSubstr("0 of 5 blocks"));
  EXPECT_THAT(report_markdown(results), Not(HasSubstr("Where a win went")));
  EXPECT_NO_THROW(report_table(RunResults{}, 100, false));
}

TEST(ReportMarkdown, TellsWhereTheWinWentToTheNanosecond) {
  // Window 10100 -> 7001.5; compute 6000 -> 6500, exposed 4100 -> 500, idle 0 -> 1.5 microseconds.
  EXPECT_THAT(report_markdown(measured()),
              HasSubstr("| off | on | -3098.500 | +500.000 | -3600.000 | +0.000 | +1.500 |"));
}

TEST(ReportMarkdown, HasCommandCommitPurposesAndTheWayToTheDefinitions) {
  const std::string text = report_markdown(measured());
  EXPECT_THAT(text, HasSubstr("`underlap run a.yaml`"));
  EXPECT_THAT(text, HasSubstr("0.1.0, commit abc123"));
  EXPECT_THAT(text, HasSubstr("**Link: paced to 4 Gbit/s: loopback"));
  EXPECT_THAT(text, HasSubstr("| on | grad_reduce_scatter | 2 | 4.10 kB | 4.000 | 0.500 | 0.000 | 0.500 |"));
  EXPECT_THAT(text, HasSubstr("bench/METRICS.md"));
}

TEST(ReportMarkdown, IsWrittenBesideTheResults) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / ("report_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  write_report(folder, measured());
  std::ifstream stream(folder / "report.md");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), report_markdown(measured()));
  std::filesystem::remove_all(folder);
}

TEST(BytesText, CountsInPowersOfAThousand) {
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1500), "1.50 kB");
  EXPECT_EQ(bytes_text(2.5e15), "2500.00 TB");
}

}  // namespace
}  // namespace underlap::bench
