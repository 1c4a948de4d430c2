// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/baseline.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/profiler/gate/gate_runs.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::gate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
    try {
      read_back(text.replace(place, from.size(), to));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
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
              AllOf(HasSubstr("baseline.json: /schema"), HasSubstr("save the baseline anew")));
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
  const auto refusal = [](const std::vector<RunFigures>& runs) -> std::string {
    try {
      check_baseline(runs);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  std::vector<RunFigures> runs = runs_of("base", 3);
  EXPECT_EQ(refusal(runs), "");
  runs[2].cells.pop_back();
  EXPECT_THAT(refusal(runs), AllOf(HasSubstr("base/run-02 has no cell c9, which base/run-00 has"), HasSubstr("apart")));
  runs = runs_of("base", 3);
  runs[1].cells[2].work["ranks"] = "4";
  EXPECT_THAT(refusal(runs), HasSubstr("cell c2: ranks is 2 in the one and 4 in the other"));
  runs = runs_of("base", 2);
  runs.push_back(runs.front());
  EXPECT_THAT(refusal(runs), HasSubstr("are the same run"));
}

}  // namespace
}  // namespace underlap::gate
