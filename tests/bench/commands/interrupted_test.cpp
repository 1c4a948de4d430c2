// SPDX-License-Identifier: Apache-2.0
// Who kills it, or runs out of disk: finished blocks stay, and --resume goes on behind them.
#include <fmt/format.h>
#include <signal.h>

#include <thread>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using NamedSignal = std::pair<int, const char*>;

class Signals : public ::testing::TestWithParam<NamedSignal> {};

TEST_P(Signals, LeaveWhatWasFinishedAndResumeGoesOn) {
  const auto& [signal, name] = GetParam();
  const RunFolder folder(tiny_config(kOffAndOn));
  Program program(folder.arguments({"--blocks", "100000", "--link-gbps", "3"}));
  ASSERT_TRUE(wait_for_a_block(program, folder));
  program.send(signal);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.signal, signal);
  if (signal != SIGKILL) {
    EXPECT_THAT(outcome.err,
                ContainsRegex(fmt::format("underlap: stopped by {}; [0-9]+ of 100000 blocks are kept in {}", name,
                                          folder.run())));
    EXPECT_THAT(outcome.err,
                EndsWith(fmt::format("; continue with: {} run {} -o {} --blocks 100000 --link-gbps 3 --resume\n",
                                     UNDERLAP_PROGRAM, folder.config(), folder.run())));
  }
  EXPECT_GE(folder.results().blocks_done, 1);
  for (const auto& trace : folder.traces()) expect_success({"analyze", trace});
  expect_resumes(folder, {"--link-gbps", "3"});
}

INSTANTIATE_TEST_SUITE_P(Interrupted, Signals,
                         ::testing::Values(NamedSignal{SIGKILL, ""}, NamedSignal{SIGINT, "SIGINT"},
                                           NamedSignal{SIGTERM, "SIGTERM"}, NamedSignal{SIGHUP, "SIGHUP"}));

// A stop between two steps' runs disturbs none, and is not noted.
TEST(Interrupted, AStoppedProcessIsCalledStopped) {
  const RunFolder folder(tiny_config(kOffAndOn));
  Program program(folder.arguments({"--blocks", "100000"}));
  const auto is_noted = [&] {
    if (!fs::exists(folder.results_file())) return false;
    for (const report::CellResult& cell : folder.results().cells)
      for (const std::string& note : cell.notes)
        if (note.find("this process was stopped (SIGSTOP, or a debugger) for about") != std::string::npos) return true;
    return false;
  };
  ASSERT_TRUE(wait_for_a_block(program, folder));
  for (int i = 0; i < 20 && !is_noted(); ++i) {
    program.send(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    program.send(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_TRUE(is_noted());
}

TEST(Interrupted, FullDiskFailsTheRunAndKeepsTheFinishedBlocks) {
  const RunFolder folder(tiny_config(kOffAndOn));
  const Outcome outcome = underlap_program(folder.arguments({"--blocks", "100000"}), {.file_bytes = 120'000});
  EXPECT_THAT(outcome, fails_with(3, "File too large: this process may write at most 120000 bytes to a file"));
  EXPECT_THAT(outcome, fails_with(3, "of 100000 blocks are kept in " + folder.run() + "; continue with: "));
  EXPECT_GE(folder.results().blocks_done, 1);
  for (const auto& entry : fs::directory_iterator(folder.run()))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  for (const auto& trace : folder.traces()) expect_success({"analyze", trace});
  expect_resumes(folder);
}

}  // namespace
}  // namespace underlap::bench
