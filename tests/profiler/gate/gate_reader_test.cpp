// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate_reader.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

#include "profiler/gate/reports.hpp"
#include "tests/profiler/gate/gate_runs.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::gate {
namespace {

using ::testing::HasSubstr;

// What reading what was written gives, written again.
std::string round_trip(const std::string& json) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "gate.json", json);
  EXPECT_TRUE(is_gate_file(folder / "gate.json"));
  return gate_json(read_gate(folder / "gate.json"));
}

TEST(GateReader, ReadsEverythingThatIsWritten) {
  std::vector<RunFigures> candidate = runs_of("new", 3);
  slow_down(candidate, "c4", 0.08);
  candidate[1].cells[5].numerics = "mismatch";
  for (RunFigures& run : candidate) {
    run.commit = "abba";
    run.cells[2].metrics.erase("bytes");
    run.cells[3].numerics = "";
  }
  for (const double step : {1.0, 1.4, 1.9})
    candidate[static_cast<std::size_t>(step) - 1].cells[7].metrics["step"] *= step;
  const std::string json = gate_json(run_gate(runs_of("base", 3), candidate, {}));
  EXPECT_THAT(json, HasSubstr("\"missing\""));
  EXPECT_EQ(round_trip(json), json);
}

TEST(GateReader, ReadsVirtualTimeAndAStatedSpread) {
  std::vector<RunFigures> baseline = runs_of("base", 1), candidate = runs_of("new", 1);
  GateOptions options;
  options.run_sd = 0.01;
  const std::string stated = gate_json(run_gate(baseline, candidate, options));
  EXPECT_EQ(round_trip(stated), stated);
  for (auto* side : {&baseline, &candidate}) side->front().is_exact = true;
  const std::string exact = gate_json(run_gate(baseline, candidate, {}));
  EXPECT_EQ(round_trip(exact), exact);
}

std::string refused(const std::string& text) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "gate.json", text);
  try {
    read_gate(folder / "gate.json");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(GateReader, RefusesOtherFilesWithThePlace) {
  EXPECT_THAT(refused("{"), HasSubstr("gate.json: not valid JSON"));
  EXPECT_THAT(refused(R"({"schema": "underlap.gate/2"})"), HasSubstr("of another version of Underlap"));
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
