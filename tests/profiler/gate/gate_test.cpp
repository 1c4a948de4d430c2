// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "platform/json.hpp"
#include "profiler/gate/reports.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/gate/gate_runs.hpp"

namespace underlap::gate {
namespace {

using namespace ::testing;  // NOLINT
using Runs = std::vector<RunFigures>;

std::string why_refused(const Runs& baseline, const Runs& candidate, const GateOptions& options = {}) {
  return testing_support::error_of([&] { run_gate(baseline, candidate, options); });
}

TEST(Gate, FindsTheOneCellThatBecameSlowerAndWhatMoved) {
  const GateReport report = against_base(slower_runs("c4", 0.08));
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_EQ(report.rows.front().cell, "c4");
  EXPECT_EQ(report.rows.front().metric, "step");
  EXPECT_NEAR(report.rows.front().change, 0.08, 0.01);
  EXPECT_LT(*report.rows.front().lower, 0.08);
  EXPECT_GT(*report.rows.front().upper, 0.08);
  const auto regressions = std::ranges::count(report.rows, Verdict::regression, &GateRow::verdict);
  EXPECT_EQ(regressions, 2);  // the step, and what is exposed, which is all of dp
  for (const auto* moved : {&report.cells[4].moved, &report.rows.front().moved}) {
    ASSERT_EQ(moved->size(), 1U);
    EXPECT_EQ(moved->front().name, "grad_reduce_scatter");
    EXPECT_NEAR(moved->front().delta(), 8e6, 1e5);
  }
}

TEST(Gate, PassesRunsThatDifferByChanceAlone) {
  const GateReport report = against_base(runs_of("new", 3));
  EXPECT_EQ(report.verdict, Verdict::pass);
  EXPECT_THAT(report.warnings, IsEmpty());
}

TEST(Gate, SaysARealChangeWithinTheToleranceAndPasses) {
  const GateReport report = against_base(slower_runs("c4", 0.03, 5));
  EXPECT_EQ(report.verdict, Verdict::pass);
  EXPECT_TRUE(row_of(report, "c4", "step").is_beyond_chance);
  EXPECT_EQ(row_of(report, "c4", "step").verdict, Verdict::pass);
}

TEST(Gate, TellsNothingOfOneRunASideUnlessTheSpreadIsStated) {
  const Runs candidate = slower_runs("c4", 0.2, 1);
  const GateReport report = against_base(candidate);
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("one run per side")));
  const GateReport with_spread = against_base(candidate, {.run_sd = 0.01});
  EXPECT_EQ(with_spread.verdict, Verdict::regression);
  EXPECT_THAT(with_spread.warnings, IsEmpty());
  EXPECT_EQ(with_spread.run_sd, 0.01);
}

TEST(Gate, HoldsExposedTimeAgainstTheStepAndNotAgainstItself) {
  Runs candidate = runs_of("new", 3);
  for (RunFigures& run : candidate) run.cells[2].metrics["exposed"] *= 1.3;  // 3 ms more of a step of 100
  const GateReport report = against_base(candidate);
  EXPECT_NEAR(row_of(report, "c2", "exposed").change, 0.03, 1e-3);
  EXPECT_EQ(row_of(report, "c2", "exposed").verdict, Verdict::pass);
}

TEST(Gate, TakesAToleranceInTimeWhereItIsLarger) {
  const GateOptions options{.rules = default_rules({.share = 0.05, .ns = 20e6})};
  EXPECT_EQ(against_base(slower_runs("c4", 0.08), options).verdict, Verdict::pass);
}

TEST(Gate, CallsAMismatchOfValuesARegressionOfItsOwn) {
  Runs candidate = runs_of("new", 3);
  candidate[1].cells[7].numerics = "mismatch";
  const GateReport report = against_base(candidate);
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_EQ(row_of(report, "c7", "numerics").words, "bit_identical -> mismatch");
  candidate[1].cells[7].numerics = "not_checked";
  EXPECT_EQ(against_base(candidate).verdict, Verdict::inconclusive);
}

// Which cell the others are held against follows from the matrix's order.
TEST(Gate, TakesAReferenceForBitIdenticalToItself) {
  Runs baseline = runs_of("base", 3), candidate = runs_of("new", 3);
  for (RunFigures& run : baseline) run.cells[0].numerics = "reference";
  for (RunFigures& run : candidate) run.cells[1].numerics = "reference";
  const GateReport report = run_gate(baseline, candidate, {});
  EXPECT_EQ(report.verdict, Verdict::pass);
  EXPECT_EQ(row_of(report, "c0", "numerics").words, "reference -> bit_identical");
  EXPECT_EQ(row_of(report, "c1", "numerics").words, "bit_identical -> reference");
  candidate[0].cells[0].numerics = "reordered";
  EXPECT_EQ(row_of(run_gate(baseline, candidate, {}), "c0", "numerics").verdict, Verdict::regression);
}

TEST(Gate, WarnsOfGrownExposureInAFasterStepAndFailsItOnlyByAPersonsRule) {
  auto [baseline, candidate] = exact_sides();
  candidate[0].cells[2].metrics["step"] -= 10e6;
  candidate[0].cells[2].metrics["exposed"] += 8e6;
  GateOptions options{.rules = default_rules({})};
  const GateReport report = run_gate(baseline, candidate, options);
  EXPECT_EQ(report.verdict, Verdict::pass);
  EXPECT_EQ(row_of(report, "c2", "exposed").verdict, Verdict::pass);
  EXPECT_THAT(report.warnings, ElementsAre(AllOf(HasSubstr("c2: exposed communication grows by"),
                                                 HasSubstr("not a regression, because the step is faster"))));
  options.rules.rules.push_back({.metric = "exposed", .max_regression = {.share = 0.01}});
  EXPECT_EQ(run_gate(baseline, candidate, options).verdict, Verdict::regression);
  candidate[0].cells[2].metrics["step"] += 20e6;
  options.rules = default_rules({});
  EXPECT_EQ(row_of(run_gate(baseline, candidate, options), "c2", "exposed").verdict, Verdict::regression);
}

// The step is faster by its compute, while more of its communication is exposed.
TEST(Gate, NamesForEachMetricWhatCanHaveMovedIt) {
  auto [baseline, candidate] = exact_sides();
  const auto are_of = [](auto... names) { return ElementsAre(Field(&MovedOperation::name, names)...); };
  CellFigures &before = baseline[0].cells[2], &now = candidate[0].cells[2];
  before.operations.push_back({.name = compare::kCopies, .busy_ns = 1e6});
  now.operations.push_back({.name = compare::kCopies, .busy_ns = 3e6});
  now.metrics["step"] -= 10e6;
  now.metrics["exposed"] += 8e6;
  now.operations[0].busy_ns -= 20e6;
  now.operations[1].exposed_ns += 8e6;
  now.operations[1].bytes += 100;
  now.metrics["bytes"] += 100;
  now.numerics = "mismatch";
  const GateOptions options{.rules = default_rules({})};
  const GateReport report = run_gate(baseline, candidate, options);
  EXPECT_THAT(row_of(report, "c2", "exposed").moved, are_of("grad_reduce_scatter"));
  EXPECT_THAT(row_of(report, "c2", "step").moved, are_of("fc1"));
  EXPECT_THAT(row_of(report, "c2", "numerics").moved, IsEmpty());
  ASSERT_EQ(row_of(report, "c2", "bytes").moved.size(), 1U);
  EXPECT_EQ(row_of(report, "c2", "bytes").moved[0].counted, Counted::bytes);
  EXPECT_EQ(row_of(report, "c2", "bytes").moved[0].delta(), 100);
  // Of what makes a step longer a copy is, too.
  now.metrics["step"] += 20e6;
  EXPECT_THAT(row_of(run_gate(baseline, candidate, options), "c2", "step").moved,
              are_of("grad_reduce_scatter", compare::kCopies));
  // A baseline of before they were told does not make them new.
  before.operations.pop_back();
  EXPECT_THAT(row_of(run_gate(baseline, candidate, options), "c2", "step").moved, are_of("grad_reduce_scatter"));
}

TEST(Gate, LeavesOutAModeThatIsAllThatIsExposedUnlessItsRuleAsksForMore) {
  Runs candidate = runs_of("new", 3);
  candidate[0].cells[4].metrics["exposed.dp"] += 1e-6;  // a rounding
  EXPECT_THROW(row_of(against_base(candidate), "c4", "exposed.dp"), std::out_of_range);
  GateOptions strict;
  strict.rules.rules.push_back({.metric = "exposed.dp", .max_regression = {.share = 0.01}});
  EXPECT_EQ(row_of(against_base(candidate, strict), "c4", "exposed.dp").verdict, Verdict::pass);
  candidate[2].cells[4].metrics["exposed.dp"] -= 1;
  EXPECT_EQ(row_of(against_base(candidate), "c4", "exposed.dp").verdict, Verdict::pass);
}

TEST(Gate, IsInconclusiveWhereTheCandidateDoesNotTellWhatTheBaselineDid) {
  Runs candidate = runs_of("new", 3);
  for (RunFigures& run : candidate)
    for (const char* metric : {"exposed", "exposed.dp", "bytes", "efficiency"}) run.cells[4].metrics.erase(metric);
  candidate[1].cells[5].numerics.clear();
  const GateReport report = against_base(candidate);
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  const GateRow& row = row_of(report, "c4", "exposed");
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_TRUE(row.is_missing);
  EXPECT_EQ(row.words, "missing from the candidate");
  EXPECT_EQ(row.baseline, 10e6);
  EXPECT_TRUE(row_of(report, "c5", "numerics").is_missing);
  EXPECT_THAT(report.warnings,
              UnorderedElementsAre(HasSubstr("not judged: exposed, bytes of c4: missing from the candidate; "
                                             "measure with run.trace: true"),
                                   HasSubstr("efficiency of c4"), HasSubstr("numerics of c5")));
  GateOptions options;
  for (const char* metric : {"exposed*", "bytes", "numerics"})
    options.rules.rules.push_back({.metric = metric, .is_judged = false});
  EXPECT_EQ(against_base(candidate, options).verdict, Verdict::pass);
  Runs silent = runs_of("base", 3);
  for (RunFigures& run : silent)
    for (CellFigures& cell : run.cells) cell.metrics.erase("bytes");
  const GateReport unrecorded_facts = run_gate(silent, runs_of("new", 3), {});
  EXPECT_EQ(unrecorded_facts.verdict, Verdict::pass);
  EXPECT_THAT(unrecorded_facts.warnings, ElementsAre(HasSubstr("not judged: bytes of c0, c1, c2, c3, c4 and 5 more: "
                                                               "missing from the baseline")));
  candidate = runs_of("new", 3);
  candidate[2].cells[4].metrics.erase("efficiency");
  EXPECT_EQ(row_of(against_base(candidate), "c4", "efficiency").words, "reported by only 2 of the candidate's 3 runs");
}

TEST(Gate, RefusesAStatedSpreadWhereRunsTellTheirs) {
  const GateOptions options{.run_sd = 0.001};
  EXPECT_THAT(why_refused(runs_of("base", 3), runs_of("new", 1), options),
              AllOf(HasSubstr("the spread is estimated from these runs (3 of the baseline, 1 of the candidate)"),
                    HasSubstr("omit --run-sd")));
  // What is stated of the step is not taken for efficiency, which one run a side says nothing of.
  Runs candidate = runs_of("new", 1);
  for (CellFigures& cell : candidate[0].cells) cell.metrics["efficiency"] = -5;
  for (const GateRow& row : against_base(candidate, options).rows)
    if (row.metric == "efficiency") {
      EXPECT_EQ(row.verdict, Verdict::inconclusive);
    }
}

// What is shown is what the change was formed of.
TEST(Gate, ShowsStepsWhoseRatioIsTheChange) {
  Runs candidate = runs_of("new", 3);
  for (std::size_t i = 0; i < 3; ++i) candidate[i].cells[4].metrics["step"] = 100e6 * (i == 2 ? 3.0 : 1.0);
  const GateRow row = row_of(against_base(candidate), "c4", "step");
  EXPECT_NEAR(row.candidate / row.baseline - 1, row.change, 1e-12);
}

TEST(Gate, TakesATimeAsAShareOfTheStepForEfficiency) {
  const GateReport report = against_base(runs_of("new", 3), {.rules = default_rules({.ns = 2e6})});
  EXPECT_NEAR(row_of(report, "c4", "efficiency").tolerance, 0.02, 1e-3);
  EXPECT_EQ(row_of(report, "c4", "efficiency").tolerance, row_of(report, "c4", "step").tolerance);
}

TEST(Gate, RefusesATraceOfOneRankAgainstARunOfMany) {
  auto [baseline, candidate] = exact_sides();
  candidate[0].started_utc.clear();
  for (CellFigures& cell : candidate[0].cells) cell.work = {{"ranks", "1"}};
  EXPECT_THAT(why_refused(baseline, candidate),
              AllOf(HasSubstr("new is a simulated trace with 1 rank, but base/run-00 is a run with 2"),
                    HasSubstr("run folders on both sides")));
}

TEST(Gate, CountsEveryByteMoreOnTheWire) {
  Runs candidate = runs_of("new", 3);
  for (RunFigures& run : candidate) run.cells[3].metrics["bytes"] = 4097;
  const GateReport report = against_base(candidate);
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_NEAR(row_of(report, "c3", "bytes").change, 1.0 / 4096, 1e-9);
}

TEST(Gate, WatchesEfficiencyWithoutBeingHeldUpByIt) {
  Runs baseline = runs_of("base", 3), candidate = runs_of("new", 3);
  baseline[0].cells[0].metrics["efficiency"] = -3;
  candidate[0].cells[0].metrics["efficiency"] = 2;
  const GateReport report = run_gate(baseline, candidate, {});
  EXPECT_EQ(row_of(report, "c0", "efficiency").verdict, Verdict::inconclusive);
  EXPECT_FALSE(row_of(report, "c0", "efficiency").decides);
  EXPECT_EQ(report.verdict, Verdict::pass);
}

TEST(Gate, CountsEveryNanosecondOfVirtualTime) {
  auto [baseline, candidate] = exact_sides();
  baseline[0].cells[5].schedule = "aa";
  candidate[0].cells[5].schedule = "ab";
  candidate[0].cells[5].metrics["step"] += 1;
  candidate[0].cells[5].operations[0].busy_ns += 1;
  const GateReport within = run_gate(baseline, candidate, {});
  EXPECT_EQ(within.verdict, Verdict::pass);
  EXPECT_TRUE(within.cells[5].has_other_schedule);
  const GateReport report = run_gate(baseline, candidate, {.rules = default_rules({})});
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_EQ(report.rows.front().cell, "c5");
  EXPECT_EQ(report.rows.front().moved.front().name, "fc1");
}

TEST(Gate, ComparesRunsThatTookTurnsInPairs) {
  Runs baseline = runs_of("base", 3), candidate = runs_of("base", 3);
  double drift = 1;
  for (std::size_t i = 0; i < 3; ++i, drift *= 1.3) {  // of the machine, far more than the change
    baseline[i].series = candidate[i].series = "s";
    baseline[i].series_run = candidate[i].series_run = static_cast<std::int32_t>(i);
    baseline[i].series_side = "baseline";
    candidate[i].series_side = "candidate";
    candidate[i].source += "'";
    for (std::size_t cell = 0; cell < 10; ++cell) {
      baseline[i].cells[cell].metrics["step"] *= drift;
      candidate[i].cells[cell].metrics["step"] *= drift * (1 + 0.0005 * static_cast<double>((cell + i) % 3));
    }
  }
  slow_down(candidate, "c1", 0.08);
  const GateReport report = run_gate(baseline, candidate, {});
  EXPECT_TRUE(report.is_paired);
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_EQ(report.rows.front().cell, "c1");
  candidate[2].series_run = 7;
  EXPECT_EQ(row_of(run_gate(baseline, candidate, {}), "c1", "step").verdict, Verdict::inconclusive);
}

TEST(Gate, RefusesWhatDidSomethingElseUnlessForced) {
  Runs candidate = runs_of("new", 3);
  candidate[2].cells[3].work["model.num_layers"] = "8";
  EXPECT_THAT(
      why_refused(runs_of("base", 3), candidate),
      AllOf(HasSubstr("cell c3: model.num_layers is 4 in the baseline and 8 in the candidate"), HasSubstr("--force")));
  candidate = runs_of("new", 3);
  candidate[0].kind["backend"] = "sim";
  EXPECT_THAT(why_refused(runs_of("base", 3), candidate), HasSubstr("backend is host in the baseline and sim"));
  EXPECT_THAT(against_base(candidate, {.is_forced = true}).forced, HasSubstr("backend is host"));
}

TEST(Gate, RefusesMissingCellsEmptySidesAndOneRunTwice) {
  Runs candidate = runs_of("new", 3);
  candidate[1].cells.pop_back();
  EXPECT_THAT(why_refused(runs_of("base", 3), candidate), HasSubstr("new/run-01: has no cell c9, which the run"));
  for (RunFigures& run : candidate) run.cells.resize(3);
  EXPECT_THAT(why_refused(runs_of("base", 3), candidate),
              HasSubstr("has no cell c3, c4, c5, c6, c7 and 2 more, which the baseline base/run-00 has"));
  EXPECT_THAT(why_refused({}, candidate), HasSubstr("the baseline has no run"));
  Runs copy = runs_of("base", 1);
  copy[0].source = "elsewhere";
  EXPECT_THAT(why_refused(runs_of("base", 3), copy), HasSubstr("base/run-00 and elsewhere are the same run"));
}

TEST(Gate, SaysWhatDiffersAndWhatIsAmiss) {
  Runs baseline = runs_of("base", 3), candidate = runs_of("new", 3);
  for (RunFigures& run : candidate) {
    run.commit = "abba";
    run.environment["machine"] = "m2";
    run.cells[1].knobs["ddp.overlap_grad_reduce"] = "false";
    run.cells.push_back(run.cells.back());
    run.cells.back().name = "c10";
  }
  for (RunFigures& run : baseline) run.commit_utc = "2026-03-01T00:00:00Z";
  for (RunFigures& run : candidate) run.commit_utc = "2026-02-01T00:00:00Z";
  const GateReport report = run_gate(baseline, candidate, {});
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("on different machines"), HasSubstr("are they swapped?"),
                                           HasSubstr("no such cell: c10")));
  EXPECT_THAT(report.differences, ElementsAre(Field(&Difference::what, "commit"), Field(&Difference::what, "machine"),
                                              Field(&Difference::what, "ddp.overlap_grad_reduce (c1)")));
}

TEST(Gate, SaysWhatItWasToldInVain) {
  const auto [baseline, candidate] = exact_sides();
  GateOptions options{.run_sd = 0.01};
  options.rules.rules.push_back({.metric = "step", .cells = "d*"});
  options.rules.rules.push_back({.metric = "exposed.pp"});
  options.rules.rules.push_back({.metric = "numeri?s"});
  EXPECT_THAT(
      run_gate(baseline, candidate, options).warnings,
      ElementsAre(HasSubstr("--run-sd is ignored"), HasSubstr("a rule is for cells d*"),
                  HasSubstr("a rule is for metric exposed.pp, but these runs do not report it; they report bytes")));
}

TEST(Gate, JudgesOnlyWhatTheRulesAskFor) {
  const Runs candidate = slower_runs("c4", 0.08);
  GateOptions options;
  options.rules.rules.push_back({.metric = "*", .cells = "c4", .max_regression = {}, .is_judged = false});
  EXPECT_EQ(against_base(candidate, options).verdict, Verdict::pass);
  options.rules.rules.push_back({.is_judged = false});
  EXPECT_THAT(why_refused(runs_of("base", 3), candidate, options), HasSubstr("the rules exclude every metric"));
}

// What follows from a setting is no difference of its own.
TEST(Gate, CollapsesDerivedSettings) {
  std::vector<RunFigures> baseline = runs_of("a", 1), candidate = runs_of("b", 1);
  for (RunFigures* run : {&baseline[0], &candidate[0]})
    for (CellFigures& cell : run->cells) {
      const char* value = run == &candidate[0] ? "false" : "true";
      cell.knobs = {{"ddp.overlap_grad_reduce", value}, {"x", value}, {"y", value}, {"z", value}};
      cell.derived_knobs = {"x", "y", "z"};
    }
  const GateReport report = run_gate(baseline, candidate, {});
  EXPECT_EQ(report.differences.size(), 4U);
  const std::string text = gate_text(report, {.width = 80}, Rows::notable);
  EXPECT_THAT(text, HasSubstr("ddp.overlap_grad_reduce"));
  EXPECT_THAT(text, HasSubstr("3 derived settings: x, y and 1 more"));
  candidate[0].cells[0].derived_knobs = {"x", "y"};  // a person wrote z
  EXPECT_THAT(gate_text(run_gate(baseline, candidate, {}), {.width = 80}, Rows::notable),
              HasSubstr("2 derived settings: x, y"));
}

// Communication is exposed for 10 ms of steps of 99.5 to 100.5 ms.
GateReport judged(const std::vector<RunFigures>& runs, double target) {
  return run_gate({}, runs, {.max_exposed = target});
}

TEST(Target, OfOneRunIsHeldAgainstItsShare) {
  const std::vector<RunFigures> one = runs_of("a", 1);
  EXPECT_EQ(judged(one, 0.11).verdict, Verdict::pass);
  const GateReport above = judged(one, 0.09);
  EXPECT_EQ(above.verdict, Verdict::regression);
  ASSERT_EQ(above.rows.size(), 10u);
  EXPECT_NEAR(above.rows[0].candidate, 0.1, 0.001);
  EXPECT_THAT(verdict_sentence(above), HasSubstr("the target is 9 %; 10 cells are above it"));
  EXPECT_THAT(method_text(above), HasSubstr("one run"));
}

TEST(Target, OfSeveralRunsIsHeldAgainstTheirLimits) {
  std::vector<RunFigures> runs = runs_of("a", 5);
  EXPECT_EQ(judged(runs, 0.11).verdict, Verdict::pass);
  EXPECT_EQ(judged(runs, 0.09).verdict, Verdict::regression);
  const double middle = judged(runs, 0.11).rows[0].change;
  const GateReport near = judged(runs, middle + 1e-6);
  EXPECT_EQ(near.verdict, Verdict::inconclusive);
  EXPECT_LT(*near.rows[0].lower, *near.rows[0].upper);
}

TEST(Target, FindsTheCellThatIsAboveIt) {
  std::vector<RunFigures> runs = runs_of("a", 3);
  slow_down(runs, "c3", 0.05);
  const GateReport report = judged(runs, 0.12);
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_EQ(report.rows[0].cell, "c3");
  EXPECT_EQ(report.rows[1].verdict, Verdict::pass);
  EXPECT_THAT(verdict_sentence(report),
              HasSubstr("in c3, the largest share of 10 cells; the target is 12 %; 1 cell is above it"));
}

TEST(Target, IsInconclusiveWhereARunTellsNoExposedTime) {
  std::vector<RunFigures> runs = runs_of("a", 1);
  runs[0].cells.resize(1);
  runs[0].cells[0].metrics.erase("exposed");
  const GateReport report = judged(runs, 0.1);
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  EXPECT_THAT(verdict_sentence(report), HasSubstr("some runs do not report exposed time"));
}

TEST(Target, StandsBesideTheRowsOfABaseline) {
  const GateReport report = against_base(runs_of("new", 3), {.max_exposed = 0.09});
  EXPECT_EQ(report.verdict, Verdict::regression);
  EXPECT_TRUE(is_target(report.rows[0]));
  EXPECT_EQ(report.rows[0].verdict, Verdict::regression);
}

TEST(Target, IsInEveryReport) {
  const GateReport report = judged(runs_of("a", 3), 0.09);
  EXPECT_THAT(gate_text(report, {.width = 80}, Rows::notable), HasSubstr("10.0 %"));
  EXPECT_THAT(gate_markdown(report, ""), HasSubstr("the target is 9 %"));
  EXPECT_THAT(gate_junit(report, false), HasSubstr("failures=\"10\""));
  const auto json = parse_json(gate_json(report));
  EXPECT_EQ(json["max_exposed"], 0.09);
  EXPECT_TRUE(json["rows"][0]["baseline"].is_null());
  EXPECT_EQ(json["rows"][0]["unit"], "one");
}

}  // namespace

}  // namespace underlap::gate
