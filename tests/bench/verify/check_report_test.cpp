// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/check_report.hpp"

#include <nlohmann/json.hpp>

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using check::FindingKind;

check::Finding finding(FindingKind kind, const std::string& what, std::int64_t count = 1) {
  return {.kind = kind, .commands = {{1, 7}}, .what = what, .remedy = "mend " + what, .count = count};
}

CheckedCell cell(std::vector<check::Finding> findings) {
  return {
      .name = "both",
      .steps = 2,
      .report = {
          .num_ranks = 4, .num_operations = 100, .num_waits = 9, .num_exchanges = 8, .findings = std::move(findings)}};
}

TEST(CheckReportText, SaysWhatWasCheckedAndThatNothingWasFound) {
  EXPECT_EQ(check_text({{cell({})}}), "both: 4 ranks, 2 steps, 100 operations, 9 waits, 8 exchanges: nothing found\n");
}

TEST(CheckReportText, GivesEachFindingALineAndALineThatMendsIt) {
  EXPECT_EQ(check_text({{cell({finding(FindingKind::deadlock, "this"), finding(FindingKind::race, "that", 3)})}}),
            "both: 4 ranks, 2 steps, 100 operations, 9 waits, 8 exchanges: 2 found\n"
            "  deadlock: this\n    fix: mend this\n"
            "  race: that (3 times)\n    fix: mend that\n");
}

TEST(CheckReportText, CountsWhatIsBeyondTwentyOfAKind) {
  std::vector<check::Finding> findings(25, finding(FindingKind::race, "race"));
  findings.push_back(finding(FindingKind::asymmetry, "other"));
  const std::string text = check_text({{cell(findings)}});
  EXPECT_THAT(text, HasSubstr("26 found"));
  EXPECT_THAT(text, EndsWith("  asymmetry: other\n    fix: mend other\n  race: 5 more\n"));
}

TEST(CheckReportJson, HoldsAllFindings) {
  const auto json = nlohmann::json::parse(
      check_json({{cell({}), cell(std::vector<check::Finding>(25, finding(FindingKind::race, "this", 3)))}}));
  EXPECT_EQ(json["schema"], "underlap.check/1");
  ASSERT_EQ(json["cells"].size(), 2U);
  EXPECT_TRUE(json["cells"][0]["findings"].empty());
  const auto& damaged = json["cells"][1];
  EXPECT_EQ(damaged["num_ranks"], 4);
  EXPECT_EQ(damaged["num_operations"], 100);
  ASSERT_EQ(damaged["findings"].size(), 25U);
  EXPECT_EQ(damaged["findings"][0],
            nlohmann::json::parse(R"({"kind": "race", "what": "this", "remedy": "mend this", "times": 3,
                                      "commands": [{"rank": 1, "command": 7}]})"));
}

TEST(CheckReportVerdict, IsWellWhereNoCellHasAFinding) {
  EXPECT_TRUE(is_valid({{cell({}), cell({})}}));
  EXPECT_FALSE(is_valid({{cell({}), cell({finding(FindingKind::race, "this")})}}));
}

// A reference, a cell of lower precision and one that was not checked.
CheckedMatrix with_numerics() {
  const std::vector<std::string> shrunk{"num_layers 32 -> 2", "hidden_size 4096 -> 64"};
  NumericsCheck check;
  check.cells = {{report::NumericsLabel::reference, "first", 0, 5, shrunk},
                 {report::NumericsLabel::lower_precision, "first", 2.5e-4, 5, shrunk},
                 {}};
  check.axes = {{"grad_reduce_in_fp32", "false", report::NumericsLabel::lower_precision, 2.5e-4}};
  return {{cell({}), cell({}), cell({})}, check};
}

TEST(CheckReportText, GivesTheLabelOfEachCellAndOfEachValueOfAnAxis) {
  EXPECT_THAT(check_text(with_numerics()),
              EndsWith("\nnumerics\n"
                       "  shrunk: num_layers 32 -> 2, hidden_size 4096 -> 64\n"
                       "  both: reference\n"
                       "  both: lower_precision 2.5e-04, compared with first over 5 steps\n"
                       "  both: not_checked\n"
                       "  grad_reduce_in_fp32=false alone: lower_precision 2.5e-04\n"));
}

TEST(CheckReportJson, HoldsTheNumerics) {
  const auto json = nlohmann::json::parse(check_json(with_numerics()));
  EXPECT_EQ(json["cells"][1]["numerics"],
            nlohmann::json::parse(R"({"label": "lower_precision", "reference": "first", "max_loss_difference": 2.5e-4,
                                      "steps": 5, "shrunk": ["num_layers 32 -> 2", "hidden_size 4096 -> 64"]})"));
  EXPECT_EQ(json["cells"][2]["numerics"]["reference"], nullptr);
  EXPECT_EQ(json["axes"][0], nlohmann::json::parse(R"({"axis": "grad_reduce_in_fp32", "value": "false",
                                                       "label": "lower_precision", "max_loss_difference": 2.5e-4})"));
  EXPECT_EQ(nlohmann::json::parse(check_json({{cell({})}}))["cells"][0]["numerics"], nullptr);
}

TEST(CheckReportVerdict, IsNotWellWhereACellIsAMismatch) {
  CheckedMatrix matrix = with_numerics();
  EXPECT_TRUE(is_valid(matrix));
  matrix.numerics->mismatches.emplace_back("cell both differs");
  EXPECT_FALSE(is_valid(matrix));
  EXPECT_THAT(check_text(matrix), EndsWith("  mismatch: cell both differs\n"));
}

}  // namespace
}  // namespace underlap::bench
