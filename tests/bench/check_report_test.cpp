// SPDX-License-Identifier: Apache-2.0
#include "bench/check_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace underlap::bench {
namespace {

using check::Finding;
using check::FindingKind;

Finding finding(FindingKind kind, const std::string& what, std::int64_t count = 1) {
  return {.kind = kind, .commands = {{1, 7}}, .what = what, .remedy = "mend " + what, .count = count};
}

CheckedCell cell(std::vector<Finding> findings) {
  return {
      .name = "both",
      .steps = 2,
      .report = {
          .num_ranks = 4, .num_operations = 100, .num_waits = 9, .num_exchanges = 8, .findings = std::move(findings)}};
}

TEST(CheckReportText, SaysWhatWasCheckedAndThatNothingWasFound) {
  EXPECT_EQ(check_text({cell({})}), "both: 4 ranks, 2 steps, 100 operations, 9 waits, 8 exchanges: nothing found\n");
}

TEST(CheckReportText, GivesEachFindingALineAndALineThatMendsIt) {
  EXPECT_EQ(check_text({cell({finding(FindingKind::deadlock, "this"), finding(FindingKind::race, "that", 3)})}),
            "both: 4 ranks, 2 steps, 100 operations, 9 waits, 8 exchanges: 2 found\n"
            "  deadlock: this\n    mend: mend this\n"
            "  race: that (3 times)\n    mend: mend that\n");
}

TEST(CheckReportText, CountsWhatIsBeyondTwentyOfAKind) {
  std::vector<Finding> findings(25, finding(FindingKind::race, "race"));
  findings.push_back(finding(FindingKind::asymmetry, "other"));
  const std::string text = check_text({cell(findings)});
  EXPECT_THAT(text, testing::HasSubstr("26 found"));
  EXPECT_THAT(text, testing::EndsWith("  asymmetry: other\n    mend: mend other\n  race: 5 more\n"));
}

TEST(CheckReportJson, HoldsAllFindings) {
  const auto json = nlohmann::json::parse(
      check_json({cell({}), cell(std::vector<Finding>(25, finding(FindingKind::race, "this", 3)))}));
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
  EXPECT_TRUE(is_well({cell({}), cell({})}));
  EXPECT_FALSE(is_well({cell({}), cell({finding(FindingKind::race, "this")})}));
}

}  // namespace
}  // namespace underlap::bench
