// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "platform/json.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/gate/words.hpp"
#include "tests/profiler/gate/gate_runs.hpp"

namespace underlap::gate {
namespace {

using ::testing::HasSubstr;

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
