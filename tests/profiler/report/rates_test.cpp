// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/rows/rates.hpp"

#include <gmock/gmock.h>

#include "profiler/report/csv.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/rows/cell_notes.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

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
