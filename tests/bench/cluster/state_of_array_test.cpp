// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/state_of_array.hpp"

#include "profiler/report/results.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using Stage = StateOfRun::Stage;
using States = std::map<std::size_t, JobState>;

const JobState kRunning{"RUNNING", "", "node1"};
const JobState kWaiting{"PENDING", "Resources", ""};

class ArrayState : public ::testing::Test {
 protected:
  ArrayState() {
    write_job(folder / "", {.job = "17",
                            .nodes = 1,
                            .ranks_per_node = 2,
                            .submitted_s = 900,
                            .cells = {"off", "on"},
                            .blocks = 5,
                            .command = "underlap submit m.yaml --array -o out",
                            .overrides = {{"run.steps", "3"}}});
  }
  void write(const std::filesystem::path& where, const std::vector<std::pair<std::string, std::int32_t>>& cells) const {
    report::RunResults results;
    for (const auto& [name, blocks] : cells) {
      report::CellResult& cell = results.cells.emplace_back();
      cell.name = name;
      for (std::int32_t block = 0; block < blocks; ++block) cell.samples.emplace_back().block = block;
      results.blocks_done = std::max(results.blocks_done, blocks);
    }
    results.blocks_planned = 5;
    std::filesystem::create_directories(where);
    report::write_results(where, results, report::Statistics::left_out);
  }
  void measure(std::size_t task, std::int32_t blocks) const {
    write(task_folder(folder / "", task), {{task == 0 ? "off" : "on", blocks}});
  }
  void end(std::size_t task, const std::string& code) const {
    std::filesystem::create_directories(task_folder(folder / "", task));
    testing_support::write_text(task_folder(folder / "", task) / "exit_code", code + "\n");
  }
  StateOfArray state(std::optional<States> states) const {
    return state_of_array(folder / "",
                          [&](const std::string& job) {
                            EXPECT_EQ(job, "17");
                            return states;
                          })
        .value();
  }
  std::string text(const StateOfArray& state) const { return array_text(state, "out", {.width = 200}); }

  testing_support::TemporaryFolder folder;
};

TEST_F(ArrayState, IsNoneWhereOneAllocationRunsAll) {
  write_job(folder / "", {.job = "17", .nodes = 2, .ranks_per_node = 2, .submitted_s = 900});
  EXPECT_FALSE(state_of_array(folder / "").has_value());
}

TEST_F(ArrayState, AddsUpWhatTasksSay) {
  measure(0, 2);
  const StateOfArray both = state(States{{0, kRunning}, {1, kWaiting}});
  EXPECT_EQ(both.stage(), Stage::running);
  EXPECT_THAT(text(both), HasSubstr("out is a job array (17) of 2 cells: 1 running, 1 waiting."));
  EXPECT_THAT(text(both), HasSubstr("Resources"));
  EXPECT_THAT(array_json(both), HasSubstr("\"blocks_done\": 0,\n \"blocks_planned\": 5"));
  EXPECT_EQ(state(States{{1, kWaiting}}).stage(), Stage::waiting);
}

TEST_F(ArrayState, IsFinishedOnceItIsOneRun) {
  measure(0, 5), measure(1, 5);
  end(0, "0"), end(1, "0");
  EXPECT_EQ(state(States{{1, kRunning}}).stage(), Stage::running) << "the last task merges";
  const StateOfArray apart = state(States{});
  EXPECT_EQ(apart.stage(), Stage::ended);
  EXPECT_THAT(text(apart), HasSubstr("merge them with: underlap merge out"));
  write(folder / "", {{"off", 5}, {"on", 4}});
  EXPECT_FALSE(state(States{}).is_merged) << "of blocks that were measured before";
  write(folder / "", {{"off", 5}, {"on", 5}});
  EXPECT_EQ(state(States{}).stage(), Stage::finished);
}

TEST_F(ArrayState, NamesWhyATaskEndedEarlyAndHowToGoOn) {
  measure(0, 5), measure(1, 3);
  end(0, "0");
  EXPECT_EQ(state(States{}).tasks[1].why_ended, "its task ended for an unknown reason");
  end(1, "3");
  EXPECT_EQ(state(States{{1, kRunning}}).tasks[1].why_ended, "its task ended with exit status 3");
  write_status(
      task_folder(folder / "", 1),
      {.host = "node7", .resume_command = "", .doing = "", .seconds_left = {}, .ended_because = "stopped by SIGTERM"});
  const StateOfArray ended = state(States{});
  EXPECT_EQ(ended.tasks[1].why_ended, "stopped by SIGTERM");
  EXPECT_TRUE(ended.tasks[0].is_done());
  EXPECT_THAT(text(ended), HasSubstr("continue with: underlap submit m.yaml --array -o out --resume"));
}

TEST_F(ArrayState, MoreBlocksThanATaskHasAreNotDone) {
  measure(0, 4);
  end(0, "0");
  EXPECT_EQ(state(States{}).tasks[0].run.stage, Stage::ended);
  forget_exit_code(folder / "", 0);
  EXPECT_EQ(state(States{{0, kWaiting}}).tasks[0].run.stage, Stage::waiting);
}

TEST_F(ArrayState, ATaskThatNeverBeganIsSaidToHave) {
  EXPECT_EQ(state(States{}).tasks[1].why_ended, "its task never started");
  EXPECT_THAT(text(state(States{{0, kWaiting}, {1, kWaiting}})), Not(HasSubstr("continue with")));
}

TEST_F(ArrayState, WhatWasSubmittedIsReadAsItWasWritten) {
  const SubmittedJob job = read_job(folder / "").value();
  EXPECT_EQ(job.cells, (std::vector<std::string>{"off", "on"}));
  EXPECT_EQ(job.blocks, 5);
  EXPECT_EQ(job.overrides, (std::vector<std::pair<std::string, std::string>>{{"run.steps", "3"}}));
}

}  // namespace
}  // namespace underlap::bench
