// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/reports.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "platform/json.hpp"
#include "profiler/gate/gate_page.hpp"
#include "tests/profiler/gate/gate_runs.hpp"

namespace underlap::gate {
namespace {

using namespace ::testing;  // NOLINT

GateReport slower_report() {
  std::vector<RunFigures> candidate = slower_runs("c4", 0.08);
  for (RunFigures& run : candidate) run.commit = "abba";
  return against_base(candidate);
}

TEST(GateText, SaysWhatDiffersThenTheVerdictThenWhatMoved) {
  const std::string text = gate_text(slower_report(), {.width = 80});
  EXPECT_LT(text.find("commit   c0ffee    abba"), text.find("regression: "));
  for (const char* words : {"2 of 50 metrics", "  c4: the step takes 7.9 % longer [+7.3, +8.5]: 100.2 ms -> 108.1 ms",
                            "what moved: grad_reduce_scatter +", "48 more passed; --details lists them"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_THAT(text, Not(HasSubstr("c5")));
  EXPECT_THAT(gate_text(slower_report(), {.width = 80}, Rows::all), HasSubstr("c5"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(GateText, SaysWhatAnInconclusiveRowNeeds) {
  std::vector<RunFigures> candidate = runs_of("new", 3);
  for (std::size_t i = 0; i < 3; ++i)
    for (CellFigures& cell : candidate[i].cells) cell.metrics["step"] *= 1 + 0.06 * static_cast<double>(i);
  const std::string text = gate_text(against_base(candidate), {.width = 100});
  EXPECT_THAT(
      text, AllOf(HasSubstr("inconclusive: "), HasSubstr("these runs can detect "), HasSubstr("runs per side needed")));
}

TEST(GateText, ShowsANanosecond) {
  auto [baseline, candidate] = exact_sides();
  candidate[0].cells[5].metrics["step"] += 1;
  EXPECT_THAT(gate_text(run_gate(baseline, candidate, {.rules = default_rules({})}), {.width = 100}),
              HasSubstr("c5: the step takes 1e-06 % longer: 99.50 ms, +1 ns"));
}

TEST(GateText, StampsEveryVerdictOfSidesThatAreNotComparable) {
  std::vector<RunFigures> candidate = runs_of("new", 3);
  for (RunFigures& run : candidate) run.kind["backend"] = "sim";
  const GateOptions options{.is_forced = true};
  const GateReport report = against_base(candidate, options);
  EXPECT_THAT(gate_text(report, {}),
              AllOf(StartsWith("not comparable, forced: backend is host"), HasSubstr("[forced] pass: ")));
  EXPECT_THAT(gate_text(report, {}, Rows::all), HasSubstr("pass (forced)"));
  EXPECT_THAT(gate_markdown(report), AllOf(HasSubstr("forced] pass: the step "), HasSubstr("pass (forced)")));
  EXPECT_THAT(gate_junit(report, false), HasSubstr("name=\"[forced] step\""));
  slow_down(candidate, "c4", 0.08);
  const GateReport slower = against_base(candidate, options);
  EXPECT_THAT(gate_text(slower, {}), AllOf(HasSubstr("[forced] c4: the step"), HasSubstr("regression (forced)")));
  EXPECT_THAT(gate_junit(slower, false), HasSubstr("message=\"[forced] the step takes"));
  EXPECT_THAT(gate_annotations(slower), HasSubstr("::[forced] the step takes"));
}

TEST(GateText, SaysThatEqualFiguresAreTheSame) {
  GateRow row{.metric = "step", .baseline = 14.45e6, .candidate = 14.45e6, .change = -1e-17};
  EXPECT_EQ(row_sentence(row), "the step takes the same time: 14.45 ms");
  row.metric = "exposed.pp";
  row.candidate += 0.2;
  EXPECT_EQ(row_sentence(row), "exposed pp communication is the same: 14.45 ms");
}

TEST(GateText, SaysWhatTheCandidateDoesNotTell) {
  std::vector<RunFigures> candidate = runs_of("new", 3);
  for (RunFigures& run : candidate) run.cells[4].metrics.erase("bytes");
  const std::string text = gate_text(against_base(candidate), {.width = 120});
  EXPECT_THAT(text, AllOf(HasSubstr("c4: bytes is not judged: missing from the candidate"),
                          HasSubstr("measure with run.trace: true")));
}

TEST(GateText, CountsTheCellsThatItDoesNotName) {
  std::vector<RunFigures> candidate = runs_of("new", 3);
  for (const char* cell : {"c0", "c1", "c2", "c3", "c4", "c5", "c6"}) slow_down(candidate, cell, 0.08);
  EXPECT_THAT(gate_text(against_base(candidate), {.width = 120}), HasSubstr("  2 more cells regressed: see the table"));
}

TEST(GateMarkdown, IsAVerdictATableAndFoldedDetails) {
  const std::string text = gate_markdown(slower_report());
  EXPECT_THAT(text,
              AllOf(StartsWith("### Overlap gate: regression: the step takes 7.9 % longer [+7.3, +8.5]: 100.2 ms -> "),
                    HasSubstr(" in c4, the largest change of 10 cells; 2 of 50 metrics")));
  EXPECT_THAT(text, HasSubstr("- **c4**: the step takes 7.9 % longer [+7.3, +8.5]: 100.2 ms -> 108.1 ms"));
  EXPECT_THAT(text, HasSubstr("**regression**"));
  EXPECT_THAT(text, HasSubstr("<details><summary>48 metrics that passed</summary>"));
}

TEST(GateMarkdown, FitsAComment) {
  std::vector<std::pair<std::string, double>> cells;
  for (int i = 0; i < 2000; ++i) cells.emplace_back(fmt::format("a cell with a rather long name {}", i), 100);
  std::vector<RunFigures> baseline{run_of("a", cells)}, candidate{run_of("b", cells)};
  for (CellFigures& cell : candidate[0].cells) cell.metrics["bytes"] = 5000;
  const std::string text = gate_markdown(run_gate(baseline, candidate, {}));
  EXPECT_LE(text.size(), 65'000U);
  EXPECT_THAT(
      text, AllOf(StartsWith("### Overlap gate: regression: the step takes the same time: "), HasSubstr("; 2000 of")));
}

TEST(GatePage, ShowsTheVerdictThenTheRegressionsThenAllMetrics) {
  const std::string page = gate_html(slower_report(), {{"command", "underlap gate a b"}});
  std::size_t last = 0;
  for (const char* part : {"<h1>Underlap gate: regression</h1>",
                           "<p class=\"kind verdict regression\"><strong>regression</strong>: ", "<h2>Regressions</h2>",
                           "c4: the step takes 7.9 % longer", "what moved: grad_reduce_scatter", "<h2>Changes</h2>",
                           "limits [+7.3, +8.5]", "<h2>All metrics</h2>", "<td class=\"left\">c5</td>",
                           "<h2>How it was judged</h2>", "one-sided at 95 %", "<h2>Terms</h2>", "underlap gate a b"}) {
    const std::size_t at = page.find(part, last);
    ASSERT_NE(at, std::string::npos) << part;
    last = at;
  }
}

TEST(GatePage, SaysWhatWouldDecideAnInconclusiveGate) {
  std::vector<RunFigures> candidate = runs_of("new", 3);
  for (std::size_t i = 0; i < 3; ++i)
    for (CellFigures& cell : candidate[i].cells) cell.metrics["step"] *= 1 + 0.06 * static_cast<double>(i);
  const std::string page = gate_html(against_base(candidate), {});
  EXPECT_THAT(page, AllOf(HasSubstr("<strong>inconclusive</strong>: "), HasSubstr("<h2>What would decide</h2>"),
                          HasSubstr("runs per side needed"), Not(HasSubstr("<h2>Regressions</h2>"))));
}

TEST(GateJson, HoldsEveryRowAndWhatMoved) {
  const GateReport report = slower_report();
  const auto json = parse_json(gate_json(report));
  EXPECT_EQ(json["schema"], "underlap.gate/1");
  EXPECT_EQ(json["verdict"], "regression");
  EXPECT_EQ(json["rows"].size(), 50U);
  EXPECT_EQ(json["rows"][0]["cell"], "c4");
  EXPECT_EQ(json["rows"][0]["unit"], "ns");
  EXPECT_DOUBLE_EQ(json["rows"][0]["change"], report.rows[0].change);
  EXPECT_EQ(json["cells"][4]["moved"][0]["name"], "grad_reduce_scatter");
  EXPECT_EQ(json["rows"][1]["metric"], "exposed");
  EXPECT_EQ(json["rows"][1]["moved"][0]["kind"], "communication");
  EXPECT_EQ(json["rows"][1]["moved"][0]["unit"], "ns");
  EXPECT_TRUE(json["forced"].is_null());
}

TEST(GateJunit, CountsFailuresErrorsAndSkippedRows) {
  GateReport report = slower_report();
  report.rows[5].verdict = Verdict::inconclusive;
  report.rows[5].decides = true;
  report.rows[6].verdict = Verdict::inconclusive;
  report.rows[6].decides = false;
  report.rows[0].cell = report.cells[4].name = "a<b & \"c\"";
  report.rows[1].cell = report.cells[4].name;
  const std::string xml = gate_junit(report, false);
  EXPECT_THAT(xml, HasSubstr("tests=\"50\" failures=\"2\" errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("classname=\"a&lt;b &amp; &quot;c&quot;\" name=\"step\"><failure type=\"regression\""));
  EXPECT_THAT(gate_junit(report, true), HasSubstr("errors=\"0\" skipped=\"2\""));
}

TEST(GateAnnotations, AreOneLineForEachRegressionAndAtMostTen) {
  GateReport report = slower_report();
  const std::string text = gate_annotations(report);
  EXPECT_THAT(text,
              StartsWith("::error title=overlap regression%2C c4::the step takes 7.9 %25 longer [+7.3, +8.5]: 1"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  for (GateRow& row : report.rows) row.verdict = Verdict::regression;
  const std::string many = gate_annotations(report);
  EXPECT_EQ(std::ranges::count(many, '\n'), 10);
}

}  // namespace
}  // namespace underlap::gate
