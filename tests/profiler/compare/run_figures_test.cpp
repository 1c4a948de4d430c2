// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/run_figures.hpp"

#include <gmock/gmock.h>

#include "profiler/analysis/trace_summary.hpp"
#include "profiler/compare/sides.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::compare {
namespace {

using namespace report;     // NOLINT
using namespace ::testing;  // NOLINT

report::RunResults results_of_two_steps() {
  report::RunResults results;
  results.info.link = "paced to 4 Gbit/s";
  results.info.command = "underlap run a.yaml -o r";
  results.blocks_planned = results.blocks_done = 1;
  results.cells = {cell_of("on", {},
                           {step_of(0, 1, {split_of(50, 20, 10, 20), split_of(50, 20, 20, 10)}),
                            step_of(0, 2, {split_of(60, 20, 10, 20), split_of(60, 20, 20, 10)})})};
  results.cells[0].plan_json =
      R"({"knobs":[{"name":"model.num_layers","effective":4},{"name":"ddp.num_buckets","effective":null},
                   {"name":"run.steps","effective":2},{"name":"data_parallel_size","effective":2}]})";
  std::int64_t copies = 0;
  for (report::StepSample& sample : results.cells[0].samples)
    for (analysis::Split& split : sample.ranks) split.copy_only_ns = 2000 * copies++;
  results.cells[0].kernel_ns = {{"fc1", 400}};
  results.cells[0].kernel_windows = 4;
  return results;
}

std::string why_refused(const report::RunResults& results) {
  return testing_support::error_of([&] { figures_of(results, "out/r"); });
}

TEST(RunFigures, AreMediansOverStepsAndMeansOverRanks) {
  const RunFigures run = figures_of(results_of_two_steps(), "out/r");
  const CellFigures& cell = run.cells.at(0);
  EXPECT_DOUBLE_EQ(cell.metrics.at("step"), 105e3);
  EXPECT_DOUBLE_EQ(cell.metrics.at("exposed"), 15e3);
  EXPECT_DOUBLE_EQ(cell.metrics.at("exposed.dp"), 15e3);
  EXPECT_DOUBLE_EQ(cell.metrics.at("bytes"), 4096);
  EXPECT_FALSE(cell.metrics.contains("efficiency"));  // no cell to hold it against
  ASSERT_EQ(cell.operations.size(), 3U);
  EXPECT_EQ(cell.operations[0].name, "grad_reduce_scatter");
  EXPECT_DOUBLE_EQ(cell.operations[0].exposed_ns, 15e3);
  EXPECT_DOUBLE_EQ(cell.operations[1].busy_ns, 100);
  EXPECT_EQ(cell.operations[2].name, kCopies);
  EXPECT_DOUBLE_EQ(cell.operations[2].busy_ns, 3e3);  // 0, 2, 4 and 6 us
  EXPECT_EQ(run.kind.at("link"), "paced");
  EXPECT_EQ(cell.schedule, "");
}

TEST(RunFigures, OfEarlierResultsCountTheWindowsOfAllSteps) {
  report::RunResults results = results_of_two_steps();
  results.cells[0].kernel_windows = 0;
  EXPECT_DOUBLE_EQ(figures_of(results, "out/r").cells.at(0).operations[1].busy_ns, 100);
}

TEST(RunFigures, TellWorkFromTheWayItIsDone) {
  const CellFigures cell = figures_of(results_of_two_steps(), "out/r").cells.at(0);
  EXPECT_EQ(cell.work.at("model.num_layers"), "4");
  EXPECT_EQ(cell.work.at("data_parallel_size"), "2");
  EXPECT_EQ(cell.knobs, (std::map<std::string, std::string>{{"ddp.num_buckets", "null"}}));
}

// What differs where the candidate's plan holds these knobs besides.
std::vector<Difference> differences_by(report::RunResults candidate, const std::string& knobs) {
  std::string& plan = candidate.cells[0].plan_json;
  plan.insert(plan.find(R"({"name":"run.steps")"), knobs);
  return differences_of({figures_of(results_of_two_steps(), "a")}, {figures_of(candidate, "b")});
}

TEST(RunFigures, TellWhatOfTheRunChangesItsTimes) {
  const std::vector<Difference> differences =
      differences_by(results_of_two_steps(),
                     R"({"name":"run.gpus_per_node","effective":4},{"name":"run.hardware","effective":"b200"},
         {"name":"run.blocks","effective":3},{"name":"run.peer_timeout_s","effective":9},)");
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].what, "run.gpus_per_node");
  EXPECT_EQ(differences[0].baseline, "(none)");
  EXPECT_EQ(differences[0].candidate, "4");
  EXPECT_EQ(differences[1].what, "run.hardware");
}

TEST(RunFigures, TellWhichInputFilesWereWrittenAnew) {
  report::RunResults before = results_of_two_steps(), after = results_of_two_steps();
  before.info.input_hashes = {{"mine.yaml", "12"}};
  after.info.input_hashes = {{"mine.yaml", "34"}, {"text.bin", "56"}};  // which the baseline did not read
  const std::vector<Difference> differences = differences_of({figures_of(before, "a")}, {figures_of(after, "b")});
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].what, "contents of mine.yaml");
  EXPECT_EQ(differences[0].candidate, "34");
}

TEST(RunFigures, OfVirtualTimeThatVariesAtRandomAreNotExact) {
  report::RunResults results = results_of_two_steps();
  results.info.backend = Backend::sim;
  std::string& plan = results.cells[0].plan_json;
  plan.insert(plan.find(R"({"name":"run.steps")"), R"({"name":"run.jitter_pct","effective":2.5},)");
  const RunFigures run = figures_of(results, "out/r");
  EXPECT_FALSE(run.is_exact);
  EXPECT_EQ(run.cells[0].schedule, "");
}

TEST(RunFigures, OfVirtualTimeHashEveryNanosecond) {
  report::RunResults results = results_of_two_steps();
  results.info.backend = Backend::sim;
  const RunFigures run = figures_of(results, "out/r");
  EXPECT_TRUE(run.is_exact);
  EXPECT_EQ(figures_of(results, "elsewhere").cells[0].schedule, run.cells[0].schedule);
  // Not in the median: the order of two parts of one step.
  results.cells[0].samples[0].ranks[0] = split_of(51, 19, 10, 20);
  EXPECT_NE(figures_of(results, "out/r").cells[0].schedule, run.cells[0].schedule);
}

TEST(RunFigures, AreRefusedOfARunThatIsNotWhole) {
  report::RunResults results = results_of_two_steps();
  results.blocks_planned = 3;
  EXPECT_THAT(why_refused(results),
              AllOf(HasSubstr("out/r: only 1 of 3 blocks are done"), HasSubstr("underlap run a.yaml -o r --resume")));
  results = results_of_two_steps();
  results.cells[0].invalid_because = {"the clock was set"};
  EXPECT_THAT(why_refused(results), HasSubstr("the times of cell on are invalid: the clock was set"));
  results = results_of_two_steps();
  results.cells[0].samples.clear();
  EXPECT_THAT(why_refused(results), HasSubstr("cell on has no measured steps"));
  results.cells.clear();
  EXPECT_THAT(why_refused(results), HasSubstr("has no cells"));
}

// Of one rank and step.
analysis::Summary summary_of_a_step() {
  analysis::Summary summary;
  summary.has_steps = true;
  analysis::RankSummary& rank = summary.ranks.emplace_back();
  rank.windows.push_back({.begin_ns = 0, .end_ns = 100'000});
  rank.splits.push_back(split_of(70, 20, 10, 0));
  summary.job_steps = analysis::job_steps(rank.windows, analysis::Clock::common);
  return summary;
}

TEST(RunFigures, OfEqualTracesAreOneRunOnlyWhereTheirFilesAre) {
  Trace trace;
  trace.metadata["backend"] = "sim";
  const analysis::Summary summary = summary_of_a_step();
  const auto figures = [&](const std::string& file) { return Runs{figures_of(trace, summary, "trace", file)}; };
  EXPECT_NO_THROW(refuse_same_run(figures("a/t.pftrace"), figures("b/t.pftrace")));
  EXPECT_THROW(refuse_same_run(figures("a/t.pftrace"), figures("a/t.pftrace")), std::invalid_argument);
  EXPECT_THROW(refuse_same_run(figures("."), figures("../" + std::filesystem::current_path().filename().string())),
               std::invalid_argument);
}

TEST(RunFigures, OfATraceTellTheWorkThatItsMetadataHolds) {
  Trace four, eight;
  report::RunResults results = results_of_two_steps();
  four.metadata = metadata_of(results.cells[0]);
  std::string& plan = results.cells[0].plan_json;
  plan.replace(plan.find(R"("effective":4)"), 13, R"("effective":8)");
  eight.metadata = metadata_of(results.cells[0]);
  const Runs from{facts_of(four, "four")}, to{facts_of(eight, "eight")};
  EXPECT_EQ(not_comparable(from, to), "model.num_layers is 4 in the baseline and 8 in the candidate");
  EXPECT_THAT(unrecorded_facts(from, to), ::testing::IsEmpty());
  EXPECT_EQ(figures_of(four, summary_of_a_step(), "trace", "four").cells[0].work, from[0].cells[0].work);
  // One that was written before says nothing of it.
  const Runs earlier{facts_of(Trace(), "earlier")};
  EXPECT_EQ(not_comparable(earlier, to), "");
  EXPECT_THAT(unrecorded_facts(earlier, to),
              ::testing::ElementsAre(HasSubstr("earlier: model and batch are not recorded, so whether both")));
}

TEST(RunFigures, OfForeignTracesTellTheSizeOfTheirJob) {
  Trace two, eight;
  two.metadata["world_size"] = "2";
  eight.metadata["world_size"] = "8";
  EXPECT_EQ(not_comparable({facts_of(eight, "a")}, {facts_of(two, "b")}),
            "ranks is 8 in the baseline and 2 in the candidate");
  EXPECT_EQ(not_comparable({facts_of(eight, "a")}, {facts_of(Trace(), "b")}), "");
  two.add_track({.rank = 0, .stream = 0, .name = "s"});
  two.add_track({.rank = 1, .stream = 0, .name = "s"});
  two.metadata.clear();
  Trace one;
  one.add_track({.rank = 0, .stream = 0, .name = "s"});
  EXPECT_EQ(not_comparable({facts_of(one, "a")}, {facts_of(two, "b")}),
            "ranks in the trace is 1 in the baseline and 2 in the candidate");
}

TEST(RunFigures, OfATraceOfVirtualTimeThatVariesAtRandomAreNotExact) {
  Trace trace;
  trace.metadata = {{"backend", "sim"}, {"knobs", R"({"run.jitter_pct":"2"})"}};
  EXPECT_FALSE(facts_of(trace, "t").is_exact);
  EXPECT_EQ(figures_of(trace, summary_of_a_step(), "trace", "t").cells[0].schedule, "");
  trace.metadata["knobs"] = "no JSON";
  EXPECT_TRUE(facts_of(trace, "t").is_exact);
}

TEST(RunFigures, OfATraceAreThoseOfTheStepsThatAllItsRanksHave) {
  Trace trace;
  analysis::Summary summary;
  summary.has_steps = true;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    analysis::RankSummary& of_rank = summary.ranks.emplace_back();
    of_rank.rank = rank;
    for (std::int32_t step = 0; step < 3 - rank; ++step) {  // the second rank's last step is cut off
      of_rank.windows.push_back({.rank = rank, .block = 0, .step = step, .begin_ns = 0, .end_ns = 100'000});
      of_rank.splits.push_back(split_of(50 + 20 * rank + 1000 * (step / 2), 20, 10, 0));
    }
  }
  summary.job_steps = analysis::job_steps(summary.shown_windows(), analysis::Clock::per_rank);
  const RunFigures run = figures_of(trace, summary, "trace", "t.json");
  EXPECT_DOUBLE_EQ(run.cells.at(0).metrics.at("step"), 100e3);
  EXPECT_EQ(run.cells[0].numerics, "");
  summary.has_steps = false;
  EXPECT_THROW(figures_of(trace, summary, "trace", "t.json"), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::compare
