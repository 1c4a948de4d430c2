// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/report_of.hpp"

#include <gmock/gmock.h>

#include "profiler/analysis/summary.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::compare {
namespace {

using namespace report;  // NOLINT
using testing_support::error_of;
using namespace ::testing;  // NOLINT

// One kernel of `length_ns` in each of two steps of 1000 ns, or the same without marks.
Trace trace_of(std::int64_t length_ns, bool has_steps = true) {
  Trace trace;
  trace.add_track({.rank = 0, .stream = 0, .name = "compute"});
  for (std::int32_t step = 0; has_steps && step <= 2; ++step)
    trace.marks.push_back({.rank = 0, .block = 0, .step = step, .time_ns = step * 1000});
  for (std::int32_t step = 0; step < 2; ++step)
    trace.add(testing_support::slice_of(0, 1000 * step, length_ns, "gemm", {.purpose = intern("fc1")}));
  return trace;
}

CompareReport report_of(const Trace& from, const Trace& to, bool is_forced = false) {
  const analysis::Summary of_from = analysis::summarise(from), of_to = analysis::summarise(to);
  return report_of_traces({"a", {from, of_from}}, {"b", {to, of_to}}, is_forced);
}

TEST(ReportOfTraces, ComparesTheirSteps) {
  const CompareReport report = report_of(trace_of(400), trace_of(500));
  EXPECT_EQ(report.from, "a");
  EXPECT_EQ(report.to, "b");
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("did the same work is unknown")));
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_EQ(report.comparisons[0].from_step_ns, 1000);
  ASSERT_TRUE(report.comparisons[0].change);
  EXPECT_EQ(report.comparisons[0].change->windows, 2);
}

TEST(ReportOfTraces, EqualTracesDifferInNothing) {
  const CompareReport report = report_of(trace_of(400), trace_of(400));
  EXPECT_EQ(report.comparisons.at(0).delta_ns(), 0);
  for (const StepPart& part : parts_of(*report.comparisons.at(0).change)) EXPECT_EQ(part.delta_ns().value_or(0), 0);
}

TEST(ReportOfTraces, TypicalStepsLeaveOutWhatStalled) {
  const auto with_steps = [](std::vector<std::int64_t> ends_ns) {
    Trace trace = trace_of(400);
    trace.marks.clear();
    for (std::size_t step = 0; step < ends_ns.size(); ++step)
      trace.marks.push_back({.rank = 0, .block = 0, .step = static_cast<std::int32_t>(step), .time_ns = ends_ns[step]});
    return trace;
  };
  const CompareReport report = report_of(with_steps({0, 1000, 2000, 3000}), with_steps({0, 1000, 91000, 92000, 93000}));
  EXPECT_EQ(report.comparisons.at(0).from_step_ns, 1000);
  EXPECT_EQ(report.comparisons.at(0).to_step_ns, 1000);
  EXPECT_EQ(report.comparisons.at(0).change->to.window_ns, 2000) << "steps 1 and 3: 2 stalled, and 4 is not in both";
}

TEST(ReportOfTraces, RefusesOtherWorkUnlessItIsForced) {
  Trace other = trace_of(400);
  Trace one = trace_of(400);
  one.metadata["backend"] = "host";
  other.metadata["backend"] = "sim";
  EXPECT_THAT(error_of([&] { report_of(one, other); }), HasSubstr("use --force to compare anyway"));
  EXPECT_THAT(report_of(one, other, true).forced, HasSubstr("backend"));
}

TEST(ReportOfTraces, RefusesStepsAgainstAWholeTraceEvenWhereItIsForced) {
  EXPECT_THAT(error_of([] { report_of(trace_of(400), trace_of(400, false), true); }),
              HasSubstr("b: no steps were found, but a has steps"));
  EXPECT_THAT(error_of([] { report_of(trace_of(400, false), trace_of(400), true); }),
              HasSubstr("a: no steps were found, but b has steps"));
}

TEST(ReportOfTraces, ComparesWholeTracesWhereNeitherShowsStepsAndSaysSo) {
  const CompareReport report = report_of(trace_of(400, false), trace_of(500, false));
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("did the same work is unknown"), HasSubstr("steps are not known")));
  EXPECT_EQ(report.comparisons.at(0).from_step_ns, 1400);
}

ComparedRun run_of(const std::string& name, const std::vector<std::string>& cells, std::int64_t compute_us,
                   const std::string& layers = "4") {
  ComparedRun run;
  run.results.info.started_utc = name;
  run.results.blocks_planned = run.results.blocks_done = 1;
  for (const std::string& cell : cells) {
    run.results.cells.push_back(cell_of(cell, {}, {step_of(0, 1, {split_of(compute_us, 20, 10, 20)})}));
    run.results.cells.back().plan_json = R"({"knobs":[{"name":"model.num_layers","effective":)" + layers + "}]}";
  }
  run.figures = figures_of(run.results, name);
  return run;
}

std::optional<TraceChange> no_traces(const report::CellResult&, const report::CellResult&) { return std::nullopt; }

TEST(ReportOfRuns, ComparesCellsThatBothHaveAndNotesOthers) {
  const CompareReport report =
      report_of_runs(run_of("a", {"off", "on"}, 50), run_of("b", {"on", "both"}, 60), false, no_traces);
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_EQ(report.comparisons[0].name, "on");
  EXPECT_EQ(report.comparisons[0].delta_ns(), 10e3);
  EXPECT_THAT(report.notes, ElementsAre("cell off is only in a", "cell both is only in b",
                                        HasSubstr("only median steps are compared")));
}

TEST(ReportOfRuns, TakesTypicalStepsFromTheRunsAndTheirPartsFromTheTraces) {
  TraceChange change;
  change.windows = 2;
  change.from.window_ns = 2000;
  change.to.window_ns = 2400;
  std::vector<std::string> asked;
  const auto change_of = [&](const report::CellResult& from, const report::CellResult& to) {
    asked.push_back(from.name + " " + to.name);
    return std::optional(change);
  };
  const CompareReport report = report_of_runs(run_of("a", {"on"}, 50), run_of("b", {"on"}, 60), false, change_of);
  EXPECT_THAT(asked, ElementsAre("on on"));
  EXPECT_EQ(report.comparisons.at(0).delta_ns(), 10e3);
  EXPECT_EQ(report.comparisons.at(0).change->to.window_ns, 2400);
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST(ReportOfRuns, RefusesOtherWorkUnlessItIsForcedAndRunsWithoutACommonCell) {
  const ComparedRun one = run_of("a", {"on"}, 50), other = run_of("b", {"on"}, 60, "8");
  EXPECT_THAT(error_of([&] { report_of_runs(one, other, false, no_traces); }),
              HasSubstr("model.num_layers is 4 in the baseline and 8 in the candidate\n  they did not do the same"));
  EXPECT_THAT(report_of_runs(one, other, true, no_traces).forced, HasSubstr("model.num_layers"));
  EXPECT_THAT(error_of([&] { report_of_runs(one, run_of("b", {"off"}, 60), false, no_traces); }),
              HasSubstr("a and b have no cell in common"));
}

TEST(ReportOfCells, ComparesTwoOfOneRun) {
  const ComparedRun run = run_of("a", {"off", "on"}, 50);
  const CompareReport report = report_of_cells(run, "off", "on", false, no_traces);
  EXPECT_EQ(report.from, "off");
  EXPECT_EQ(report.comparisons.at(0).name, "off -> on");
  EXPECT_EQ(report_of_cells(run, "on", "on", false, no_traces).comparisons.at(0).delta_ns(), 0);
  EXPECT_THAT(error_of([&] { report_of_cells(run, "on", "both", false, no_traces); }),
              HasSubstr("a has no cell \"both\"; it has: off, on"));
}

}  // namespace
}  // namespace underlap::compare
