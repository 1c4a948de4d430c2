// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/named_runs.hpp"

#include <gmock/gmock.h>

#include "profiler/gate/reports.hpp"
#include "profiler/gate/rules.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/gate/gate_runs.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::gate {
namespace {

using namespace ::testing;  // NOLINT

class Baseline : public ::testing::Test {
 protected:
  std::vector<RunFigures> read_back(const std::string& text) const {
    testing_support::write_text(folder_ / kBaselineFile, text);
    return read_baseline(folder_ / kBaselineFile);
  }

  // What reading says of a baseline in which `from` became `to`.
  std::string complaint(const std::string& from, const std::string& to) const {
    std::string text = baseline_text(runs_of("base", 2));
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return testing_support::error_of([&] { read_back(text.replace(place, from.size(), to)); });
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(Baseline, ReadsBackExactlyWhatWasWritten) {
  std::vector<RunFigures> runs = runs_of("base", 3);
  runs[1].cells[2].metrics["step"] = 1e8 / 3;
  runs[1].series = "s";
  runs[1].series_run = 1;
  runs[1].series_side = "candidate";
  runs[2].is_exact = true;
  runs[2].cells[0].schedule = "00ff";
  runs[2].commit_utc = "2026-01-01T00:00:00Z";
  EXPECT_EQ(read_back(baseline_text(runs)), runs);
}

TEST_F(Baseline, ErrorsNameFileAndPlace) {
  EXPECT_THAT(complaint("\"underlap.baseline/1\"", "\"underlap.baseline/0\""),
              AllOf(HasSubstr("baseline.json: /schema"), HasSubstr("save the baseline again")));
  EXPECT_THAT(complaint("\"underlap.baseline/1\"", "\"underlap.results/1\""), HasSubstr("must be"));
  EXPECT_THAT(complaint("\"commit_utc\"", "\"commit_UTC\""), HasSubstr("/runs/0 has no \"commit_utc\""));
  EXPECT_THAT(complaint("\"step\": 1", "\"step\": -1"), HasSubstr("/runs/0/cells/0/metrics/step must be above 0"));
  EXPECT_THAT(complaint("\"step\": ", "\"stop\": "), HasSubstr("/runs/0/cells/0/metrics has no \"step\""));
  EXPECT_THAT(complaint("\"exposed\": 1", "\"exposed\": \"x\", \"e\": 1"), HasSubstr("must be number"));
  EXPECT_THAT(complaint("{", "["), HasSubstr("not valid JSON"));
  EXPECT_THROW(read_baseline(folder_ / "absent.json"), std::invalid_argument);
  EXPECT_THROW(read_back("{\"schema\": \"underlap.baseline/1\", \"runs\": []}"), std::invalid_argument);
}

TEST(CheckBaseline, RefusesRunsThatNoGateTakesAsOneSide) {
  const auto refusal = [](const std::vector<RunFigures>& runs) {
    return testing_support::error_of([&] { check_baseline(runs); });
  };
  std::vector<RunFigures> runs = runs_of("base", 3);
  EXPECT_EQ(refusal(runs), "");
  runs[2].cells.pop_back();
  EXPECT_THAT(refusal(runs),
              AllOf(HasSubstr("base/run-02 has no cell c9, which base/run-00 has"), HasSubstr("separately")));
  runs = runs_of("base", 3);
  runs[1].cells[2].work["ranks"] = "4";
  EXPECT_THAT(refusal(runs), HasSubstr("cell c2: ranks is 2 in the one and 4 in the other"));
  runs = runs_of("base", 2);
  runs.push_back(runs.front());
  EXPECT_THAT(refusal(runs), HasSubstr("are the same run"));
}

using namespace ::testing;  // NOLINT

Rules rules_of(const std::string& yaml) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "gate.yaml", yaml);
  return with_rules_of(default_rules({.share = 0.05}), folder / "gate.yaml");
}

std::string complaint(const std::string& yaml) {
  return testing_support::error_of([&] { rules_of(yaml); });
}

TEST(Tolerance, IsAShareATimeOrBoth) {
  EXPECT_EQ(parse_tolerance("5%"), (Tolerance{.share = 0.05}));
  EXPECT_EQ(parse_tolerance("300us"), (Tolerance{.ns = 300e3}));
  EXPECT_EQ(parse_tolerance("2.5% or 1ms"), (Tolerance{.share = 0.025, .ns = 1e6}));
  EXPECT_EQ(parse_tolerance("0"), Tolerance{});
  for (const char* text : {"", "5", "-1%", "5 percent", "nan%", "inf%", "2% 100us", "2% or", "%"})
    EXPECT_THROW(parse_tolerance(text), std::invalid_argument) << text;
}

TEST(GateRules, OfSeveralThatMatchTheLastCounts) {
  const Rules rules = rules_of(
      "rules:\n"
      "- {metric: exposed.*, max_regression: 1% or 50us}\n"
      "- {metric: exposed.pp, cells: \"big *\", inconclusive: counts}\n"
      "- {cells: no_comm, judge: false}\n");
  EXPECT_EQ(rules.find("step", "a")->max_regression, (Tolerance{.share = 0.05}));
  EXPECT_EQ(rules.find("exposed.dp", "a")->max_regression, (Tolerance{.share = 0.01, .ns = 50e3}));
  EXPECT_FALSE(rules.find("exposed.pp", "a")->decides);
  EXPECT_TRUE(rules.find("exposed.pp", "big a")->decides);
  EXPECT_EQ(rules.find("exposed.pp", "big a")->max_regression, (Tolerance{.share = 0.01, .ns = 50e3}));
  EXPECT_FALSE(rules.find("bytes", "no_comm")->is_judged);
}

TEST(GateRules, ErrorsNamePlaceAndMend) {
  EXPECT_THAT(complaint("rules:\n- {metric: stepp}\n"), AllOf(HasSubstr("gate.yaml:2:12"), HasSubstr("one of step")));
  EXPECT_THAT(complaint("rules:\n- {metric: step, max: 3%}\n"),
              AllOf(HasSubstr("gate.yaml:2:18"), HasSubstr("unknown key \"max\""), HasSubstr("max_regression")));
  EXPECT_THAT(complaint("rules:\n- {max_regression: 3}\n"),
              AllOf(HasSubstr(":2:20"), HasSubstr("\"3\" is not a tolerance")));
  EXPECT_THAT(complaint("rules:\n- {judge: no}\n"), HasSubstr("must be true or false"));
  EXPECT_THAT(complaint("rules: 3\n"), HasSubstr("needs a list of rules"));
  EXPECT_THAT(complaint("level: 3\nrules: [{metric: step}]\n"), HasSubstr("unknown key \"level\""));
  EXPECT_THAT(complaint("[1]\n"), HasSubstr("needs a list of rules"));
  EXPECT_THAT(complaint(""), HasSubstr("is empty"));
  EXPECT_THAT(complaint("rules: [\n"), HasSubstr("gate.yaml:"));
}

// What reading what was written gives, written again.
std::string round_trip(const std::string& json) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "gate.json", json);
  EXPECT_TRUE(is_gate_file(folder / "gate.json"));
  return gate_json(read_gate(folder / "gate.json"));
}

TEST(GateReader, ReadsEverythingThatIsWritten) {
  std::vector<RunFigures> candidate = slower_runs("c4", 0.08);
  candidate[1].cells[5].numerics = "mismatch";
  for (RunFigures& run : candidate) {
    run.commit = "abba";
    run.cells[2].metrics.erase("bytes");
    run.cells[3].numerics = "";
  }
  for (const double step : {1.0, 1.4, 1.9})
    candidate[static_cast<std::size_t>(step) - 1].cells[7].metrics["step"] *= step;
  const std::string json = gate_json(against_base(candidate));
  EXPECT_THAT(json, HasSubstr("\"missing\""));
  EXPECT_EQ(round_trip(json), json);
}

TEST(GateReader, ReadsVirtualTimeAndAStatedSpread) {
  const std::string stated = gate_json(against_base(runs_of("new", 1), {.run_sd = 0.01}));
  EXPECT_EQ(round_trip(stated), stated);
  const auto [baseline, candidate] = exact_sides();
  const std::string exact = gate_json(run_gate(baseline, candidate, {}));
  EXPECT_EQ(round_trip(exact), exact);
}

std::string refused(const std::string& text) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "gate.json", text);
  return testing_support::error_of([&] { read_gate(folder / "gate.json"); });
}

TEST(GateReader, RefusesOtherFilesWithThePlace) {
  EXPECT_THAT(refused("{"), HasSubstr("gate.json: not valid JSON"));
  EXPECT_THAT(refused(R"({"schema": "underlap.gate/2"})"), HasSubstr("from another version of Underlap"));
  EXPECT_THAT(refused(R"({"schema": "underlap.results/1"})"), HasSubstr("must be \"underlap.gate/1\""));
  EXPECT_THAT(refused(R"({"schema": "underlap.gate/1", "verdict": "pass", "baseline": {"runs": 3}})"),
              HasSubstr("/baseline/runs"));
}

TEST(GateReader, KnowsOtherFilesFromItsOwn) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "trace.json", R"({"traceEvents": []})");
  EXPECT_FALSE(is_gate_file(folder / "trace.json"));
  EXPECT_FALSE(is_gate_file(folder / "nothing"));
}

}  // namespace
}  // namespace underlap::gate
