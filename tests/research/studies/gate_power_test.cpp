// SPDX-License-Identifier: Apache-2.0
#include "research/studies/gate_power.hpp"

#include <gmock/gmock.h>

#include <string>

#include "platform/json.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;

// The short form of results/gate_power; the bounds leave four standard deviations of so few gates.
TEST(GatePower, FindsTheSlowerCellAndSeldomAnother) {
  GatePowerStudy study = study_testing::shipped(parse_gate_power_study, "bench/matrices/gate_power.yaml");
  study.gates = 150;
  study.scenarios = {{.runs = 3}, {.runs = 5}};
  const std::vector<GatePowerRow> rows = run_gate_power(study);
  for (const GatePowerRow& row : rows) {
    EXPECT_LE(row.false_regression, 0.11) << row.scenario.runs;
    EXPECT_LE(row.wrongly_passed, 0.12) << row.scenario.runs;
    EXPECT_LE(row.missed, 0.07) << row.scenario.runs;
    EXPECT_GE(row.false_regression_limit, row.false_regression);
  }
  EXPECT_GE(rows[0].found_exposed, 0.38);
  EXPECT_GE(rows[1].found_exposed, 0.78);
  EXPECT_GE(rows[0].found, 0.58);
  EXPECT_GE(rows[1].found, 0.86);
  EXPECT_GE(rows[0].found, rows[0].found_alone + 0.3);
}

TEST(GatePower, IsHigherWhereCommonNoiseCancels) {
  GatePowerStudy study;
  study.gates = 60;
  study.cells = 8;
  study.noise = {.common = 0.05, .cell = 0.002, .step = 0.005};
  study.scenarios = {{.runs = 5}, {.runs = 5, .interleaved = 1}};
  const std::vector<GatePowerRow> rows = run_gate_power(study);
  EXPECT_LT(rows[0].found, 0.5);
  EXPECT_GT(rows[1].found, 0.9);
}

TEST(GatePower, IsTheSameForTheSameSeed) {
  GatePowerStudy study;
  study.gates = 20;
  study.cells = 4;
  const std::string first = gate_power_json(study, run_gate_power(study));
  EXPECT_EQ(gate_power_json(study, run_gate_power(study)), first);
  study.seed = 2;
  EXPECT_NE(gate_power_json(study, run_gate_power(study)), first);
}

TEST(GatePower, WritesWhatItDrewAndSaysThatItIsAModel) {
  GatePowerStudy study;
  study.gates = 5;
  study.cells = 2;
  const std::vector<GatePowerRow> rows = run_gate_power(study);
  const auto document = parse_json(gate_power_json(study, rows));
  EXPECT_EQ(document["schema"], "underlap.gate_power/1");
  EXPECT_EQ(document["rows"][0]["runs"], 3);
  EXPECT_THAT(gate_power_markdown(study, rows), HasSubstr("drawn from a noise model, not measured"));
}

TEST(GatePower, NamesEveryErrorOfItsFile) {
  const std::string other = "study: other\nscenarios: []\n";
  const std::string wrong = "study: gate_power\nnoise: {correlation: 1}\nscenarios: [{runs: 1}]\n";
  study_testing::expect_refused(parse_gate_power_study, {{other, "a.yaml:1:8: study must be gate_power"},
                                                         {other, "a.yaml:2:12: must be a list"},
                                                         {wrong, "a.yaml:2:22: "},
                                                         {wrong, "a.yaml:3:20: "}});
}

}  // namespace
}  // namespace underlap::bench
