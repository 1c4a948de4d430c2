// SPDX-License-Identifier: Apache-2.0
// Who kills it, or runs out of disk: finished blocks stay, and --resume goes on behind them.
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const std::string kConfig =
    tiny_config("data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");

class Signals : public ::testing::TestWithParam<int> {};

TEST_P(Signals, LeaveWhatWasFinishedAndResumeGoesOn) {
  const RunFolder folder(kConfig);
  Program program(folder.arguments({"--blocks", "100000"}));
  ASSERT_TRUE(program.wait_until([&] { return std::filesystem::exists(folder.folder / "run/results.json"); }));
  program.send(GetParam());
  EXPECT_EQ(program.wait().signal, GetParam());
  EXPECT_GE(report::read_results(folder.run()).blocks_done, 1);
  for (const auto& trace : folder.traces()) EXPECT_EQ(underlap_program({"analyze", trace}).exit_code, 0);
  expect_resumes(folder);
}

INSTANTIATE_TEST_SUITE_P(Interrupted, Signals, ::testing::Values(SIGKILL, SIGINT, SIGTERM, SIGHUP));

TEST(Interrupted, ASignalIsToldWithWhatIsKeptAndTheCommandThatGoesOn) {
  const RunFolder folder(kConfig);
  Program program(folder.arguments({"--blocks", "100000", "--link-gbps", "3"}));
  ASSERT_TRUE(program.wait_until([&] {
    return std::filesystem::exists(folder.folder / "run/results.json") &&
           report::read_results(folder.run()).blocks_done > 1;
  }));
  program.send(SIGINT);
  const Outcome outcome = program.wait();
  EXPECT_THAT(outcome.err, ::testing::ContainsRegex(
                               "underlap: stopped by SIGINT; [0-9]+ of 100000 blocks are kept in " + folder.run()));
  EXPECT_THAT(outcome.err,
              ::testing::EndsWith("; go on with: " + std::string(UNDERLAP_PROGRAM) + " run " + folder.config() +
                                  " -o " + folder.run() + " --blocks 100000 --link-gbps 3 --resume\n"));
}

TEST(Interrupted, AFailureIsToldWithWhatIsKeptToo) {
  const RunFolder folder(kConfig);
  const Outcome outcome = underlap_program(folder.arguments({"--blocks", "100000"}), {.file_bytes = 120'000});
  EXPECT_THAT(outcome, fails_with(3, "of 100000 blocks are kept in " + folder.run() + "; go on with: "));
}

// A stop between two steps' runs disturbs none, and is not noted.
TEST(Interrupted, AStoppedProcessIsCalledStopped) {
  const RunFolder folder(kConfig);
  Program program(folder.arguments({"--blocks", "100000"}));
  const auto is_noted = [&] {
    if (!std::filesystem::exists(folder.folder / "run/results.json")) return false;
    for (const report::CellResult& cell : report::read_results(folder.run()).cells)
      for (const std::string& note : cell.notes)
        if (note.find("this process was stopped (SIGSTOP, or a debugger) for about") != std::string::npos) return true;
    return false;
  };
  ASSERT_TRUE(program.wait_until([&] { return std::filesystem::exists(folder.folder / "run/results.json"); }));
  for (int i = 0; i < 20 && !is_noted(); ++i) {
    program.send(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    program.send(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_TRUE(is_noted());
}

TEST(Interrupted, FullDiskFailsTheRunAndKeepsTheFinishedBlocks) {
  const RunFolder folder(kConfig);
  const Outcome outcome = underlap_program(folder.arguments({"--blocks", "100000"}), {.file_bytes = 120'000});
  EXPECT_THAT(outcome, fails_with(3, "File too large: the limit for a file of this process is 120000 bytes"));
  EXPECT_GE(report::read_results(folder.run()).blocks_done, 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder.run()))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  for (const auto& trace : folder.traces()) EXPECT_EQ(underlap_program({"analyze", trace}).exit_code, 0);
  expect_resumes(folder);
}

}  // namespace
}  // namespace underlap::bench
