// SPDX-License-Identifier: Apache-2.0
// Ranks as processes, through the program: what a user sees when one of them, or the run itself, is lost.
#include <signal.h>

#include <thread>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    pid_t pid = 0, of = 0;
    std::string name, state;
    if (file >> pid >> name >> state >> of && of == parent && state != "Z") children.push_back(pid);
  }
  return children;
}

bool end_soon(const std::vector<pid_t>& pids) {
  for (int i = 0; i < 10'000; ++i) {
    bool all = true;
    for (const pid_t pid : pids) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
      std::string number, name, state;
      if (file >> number >> name >> state && state != "Z") all = false;
    }
    if (all) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// An endless run on rank processes that has finished a block.
struct LongRun {
  explicit LongRun(const Words& more = {})
      : program(folder.arguments(joined({"--blocks", "100000", "--rank-processes", "true"}, more))) {
    if (wait_for_a_block(program, folder)) ranks = children_of(program.pid());
  }

  RunFolder folder{tiny_config(kOffAndOn)};
  Program program;
  std::vector<pid_t> ranks;
};

// Whether a note of the run's results holds all these words.
bool is_noted(const RunFolder& folder, const Words& words) {
  for (const report::CellResult& cell : folder.results().cells)
    for (const std::string& note : cell.notes)
      if (std::ranges::all_of(words, [&](const std::string& word) { return note.find(word) != std::string::npos; }))
        return true;
  return false;
}

TEST(RankProcesses, ARankThatIsKilledIsReplacedWithAllOthersAndItsBlockBeginsAgain) {
  LongRun run;
  ASSERT_EQ(run.ranks.size(), 2U);
  ::kill(run.ranks[1], SIGKILL);
  EXPECT_TRUE(run.program.wait_until([&] {
    return is_noted(run.folder, {"was measured on fresh ranks after this error: rank 1 was killed by signal 9 (Killed)",
                                 "its last task was to"});
  }));
  EXPECT_TRUE(end_soon(run.ranks));
  run.program.send(SIGINT);
  EXPECT_EQ(run.program.wait().signal, SIGINT);
  const report::RunResults results = report::read_results(run.folder.run());
  for (const report::CellResult& cell : results.cells)
    EXPECT_EQ(cell.samples.size(), static_cast<std::size_t>(results.blocks_done) * 2) << "no part of a block";
}

TEST(RankProcesses, EndWithTheRun) {
  LongRun run;
  ASSERT_EQ(run.ranks.size(), 2U);
  run.program.send(SIGKILL);
  EXPECT_EQ(run.program.wait().signal, SIGKILL);
  EXPECT_TRUE(end_soon(run.ranks));
}

TEST(RankProcesses, AStoppedRankIsFoundAtTheDeadline) {
  LongRun run({"--peer-timeout-s", "1"});
  ASSERT_EQ(run.ranks.size(), 2U);
  ::kill(run.ranks[0], SIGSTOP);
  EXPECT_TRUE(run.program.wait_until([&] { return is_noted(run.folder, {"on fresh ranks", "rank 0 is stopped"}); }));
  EXPECT_TRUE(end_soon(run.ranks));
}

TEST(RankProcesses, ARankThatWasStoppedForAWhileIsNoted) {
  LongRun run;
  ASSERT_EQ(run.ranks.size(), 2U);
  ::kill(run.ranks[1], SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  ::kill(run.ranks[1], SIGCONT);
  EXPECT_TRUE(run.program.wait_until(
      [&] { return is_noted(run.folder, {"rank 1 was stopped (SIGSTOP, or a debugger) for about "}); }));
}

TEST(RankProcesses, WhatIsWrongWithAFileIsSaidOnce) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\ntrain: {data: /no/such/text}\n"));
  const Outcome threads = underlap_program(folder.arguments());
  const Outcome processes = underlap_program(folder.arguments({"--rank-processes", "true"}));
  EXPECT_THAT(processes, fails_with(2, "/no/such/text"));
  EXPECT_EQ(processes.err, threads.err);
  EXPECT_FALSE(fs::exists(folder.run()));
}

}  // namespace
}  // namespace underlap::bench
