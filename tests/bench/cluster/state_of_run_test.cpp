// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/state_of_run.hpp"

#include <unistd.h>

#include "platform/file_lock.hpp"
#include "profiler/report/results.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using Stage = StateOfRun::Stage;

class RunState : public ::testing::Test {
 protected:
  RunStatus status() const {
    return {.host = "node7",
            .pid = 1,
            .job = "17",
            .resume_command = "underlap run m.yaml -o out --resume",
            .started_s = 1000,
            .updated_s = 1100,
            .blocks_done = 1,
            .blocks_planned = 5,
            .doing = "block 2 of 5, cell 1 of 2: off",
            .seconds_left = 240,
            .ended_because = ""};
  }
  void submit() const { write_job(folder / "", {.job = "17", .nodes = 2, .ranks_per_node = 2, .submitted_s = 900}); }
  void measure(std::int32_t blocks) const {
    report::RunResults results;
    results.blocks_done = blocks;
    results.blocks_planned = 5;
    report::CellResult& cell = results.cells.emplace_back();
    cell.name = "off";
    for (std::int32_t block = 0; block < blocks; ++block) cell.samples.emplace_back().block = block;
    report::write_results(folder / "", results, report::Statistics::left_out);
  }
  StateOfRun state(std::optional<JobState> job = std::nullopt) const {
    return state_of_run(folder / "", [job](const std::string& number) {
      EXPECT_EQ(number, "17");
      return job;
    });
  }
  std::string text(const StateOfRun& state) const { return state_text(state, "out", 1112, {.width = 200}); }

  testing_support::TemporaryFolder folder;
};

TEST_F(RunState, WithoutARunIsRefused) {
  EXPECT_THROW(state(), std::invalid_argument);
  EXPECT_THROW(state_of_run(folder / "nowhere"), std::invalid_argument);
}

TEST_F(RunState, WaitsInTheQueueUntilItIsItsTurn) {
  submit();
  const StateOfRun waiting = state(JobState{"PENDING", "Resources", ""});
  EXPECT_EQ(waiting.stage, Stage::waiting);
  EXPECT_EQ(text(waiting), "out has been queued as job 17 for 3 min 32 s (Resources).\n");
}

TEST_F(RunState, RunsWhereItIsHeld) {
  write_status(folder / "", status());
  const FileLock lock(folder / "run.lock");
  const StateOfRun running = state();
  EXPECT_EQ(running.stage, Stage::running);
  EXPECT_EQ(text(running),
            "out is running on node7: block 2 of 5, cell 1 of 2: off; 4 min 00 s left; last update 12 s ago.\n");
}

TEST_F(RunState, RunsWhereTheSchedulerSaysSoAndNoLockIsSeen) {
  submit();
  write_status(folder / "", status());
  const StateOfRun running = state(JobState{"RUNNING", "", "node[7-8]"});
  EXPECT_EQ(running.stage, Stage::running);
  EXPECT_THAT(text(running), StartsWith("out is running on node7 (job 17, node[7-8]): block 2 of 5"));
}

TEST_F(RunState, IsSilentWhereNothingCanBeSeenOfAnotherMachine) {
  write_status(folder / "", status());
  EXPECT_EQ(state().stage, Stage::silent);
  EXPECT_THAT(text(state()), HasSubstr("was last updated 12 s ago on node7: block 2 of 5"));
}

TEST_F(RunState, EndedWhereItsProcessIsGone) {
  RunStatus here = status();
  here.host = this_host();
  here.pid = 0x3fffff;  // beyond any process number
  write_status(folder / "", here);
  measure(1);
  EXPECT_EQ(state().stage, Stage::ended);
  EXPECT_THAT(text(state()), HasSubstr("for an unknown reason; last update 12 s ago"));
  EXPECT_THAT(text(state()), HasSubstr("1 of 5 blocks done"));
  EXPECT_THAT(text(state()), HasSubstr("continue with: underlap run m.yaml -o out --resume"));
  here.pid = ::getpid();
  write_status(folder / "", here);
  EXPECT_EQ(state().stage, Stage::silent);
}

TEST_F(RunState, EndedWithWhatTheSchedulerSaysOfTheJob) {
  submit();
  measure(3);
  const StateOfRun ended = state(JobState{"NODE_FAIL", "", "node[1-2]"});
  EXPECT_EQ(ended.stage, Stage::ended);
  EXPECT_THAT(text(ended), HasSubstr("Slurm job 17 is NODE_FAIL; 3 of 5 blocks done"));
}

TEST_F(RunState, IsFinishedWhenAllBlocksAreDone) {
  submit();
  measure(5);
  const StateOfRun finished =
      state_of_run(folder / "", [](const std::string&) -> std::optional<JobState> { throw std::logic_error("asked"); });
  EXPECT_EQ(finished.stage, Stage::finished);
  ASSERT_EQ(finished.cells.size(), 1U);
  EXPECT_EQ(finished.cells[0].blocks_done, 5);
  EXPECT_THAT(state_json(finished), HasSubstr("\"stage\": \"finished\""));
}

TEST_F(RunState, NamesCellsThatFailed) {
  measure(5);
  report::RunResults results = report::read_results(folder / "");
  results.cells.front().failed_because = "left out from block 3 on, where it failed 2 times: rank 1 was killed";
  report::write_results(folder / "", results, report::Statistics::left_out);
  EXPECT_THAT(text(state()), HasSubstr("is finished: 5 blocks of 1 cells, but 1 failed; --resume retries"));
  EXPECT_THAT(text(state()), HasSubstr("left out from block 3 on"));
  EXPECT_THAT(state_json(state()), HasSubstr("\"failed_because\": \"left out from block 3 on"));
}

TEST_F(RunState, StatusIsWrittenAtItsPaceAndAlwaysAtItsEnd) {
  StatusFile file(folder / "", status(), std::chrono::hours(1));
  file.say("first", 1, 10);
  file.say("second", 2, 10);
  EXPECT_EQ(read_status(folder / "")->doing, "first");
  file.end("stopped by SIGTERM", 2);
  EXPECT_EQ(read_status(folder / "")->ended_because, "stopped by SIGTERM");
  EXPECT_EQ(read_status(folder / "")->blocks_done, 2);
  EXPECT_EQ(read_status(folder / "")->seconds_left, std::nullopt);
  file.end("", 5);
  EXPECT_FALSE(read_status(folder / "").has_value());
  testing_support::write_text(folder / "status.json", "[]");
  EXPECT_THROW(read_status(folder / ""), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::bench
