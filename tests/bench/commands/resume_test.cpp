// SPDX-License-Identifier: Apache-2.0
// --resume: what it goes on with, what it begins, and what it refuses, and why.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

/// A finished run in virtual time.
struct FinishedRun {
  explicit FinishedRun(const std::string& more = "", const Words& arguments = {})
      : folder(tiny_config(kOffAndOn + more)) {
    folder.measure(joined({"--backend", "sim"}, arguments));
  }

  Outcome resume(const Words& more = {}) const {
    return underlap_program(joined(folder.arguments({"--backend", "sim", "--resume", "--blocks", "3"}), more));
  }

  RunFolder folder;
};

TEST(Resume, VirtualTimeGoesOnBehindTheLastBlock) { expect_resumes(FinishedRun().folder, {"--backend", "sim"}); }

TEST(Resume, SaysThatTheMatrixLostACell) {
  const FinishedRun run;
  write_text(run.folder.config(), tiny_config("data_parallel_size: 2\n"));
  EXPECT_THAT(run.resume(), fails_with(2, "the matrix had 2 cells, now has 1"));
}

/// A finished run that reads a text.
struct RunOnAText {
  RunOnAText() {
    write('a');
    run.emplace("train: {data: " + text + "}\n");
  }
  void write(char letter) const { write_text(text, std::string(1000, letter)); }

  TemporaryFolder files;
  std::string text = files / "text";
  std::optional<FinishedRun> run;
};

TEST(Resume, SeesThatADataFileHoldsSomethingElse) {
  const RunOnAText on;
  on.write('b');
  EXPECT_THAT(on.run->resume(), fails_with(2, "the file " + on.text + " has changed"));
  on.write('a');
  EXPECT_EQ(on.run->resume().exit_code, 0);
}

TEST(Resume, SeesThatAHardwareFileHoldsSomethingElse) {
  const TemporaryFolder files;
  const std::string hardware = files / "gpu.yaml";
  fs::copy_file(std::string(UNDERLAP_SOURCE_DIR) + "/results/hardware/h100-sxm.yaml", hardware);
  const FinishedRun run("", {"--hardware", hardware});
  write_text(hardware, read_text(hardware) + "# changed\n");
  EXPECT_THAT(run.resume({"--hardware", hardware}), fails_with(2, "the file " + hardware + " has changed"));
}

TEST(Resume, GoesOnWithResultsThatHoldNoHashesOfFiles) {
  const RunOnAText on;
  report::RunResults results = on.run->folder.results();
  results.info.input_hashes.clear();
  results.info.config_hash = "of an earlier Underlap";
  write_results(on.run->folder.run(), results);
  EXPECT_EQ(on.run->resume().exit_code, 0);
}

TEST(Resume, BeginsWhereNoBlockIsFinished) {
  const RunFolder folder(tiny_config(kOffAndOn));
  const Outcome outcome = folder.measure({"--backend", "sim", "--resume"});
  EXPECT_THAT(outcome.err, HasSubstr("contains no finished block: starting from the first\n"));
  report::RunResults results = folder.results();
  results.blocks_done = 0;
  for (report::CellResult& cell : results.cells) cell.samples.clear(), cell.trace_bytes = 0;
  write_results(folder.run(), results);
  expect_resumes(folder, {"--backend", "sim", "--steps", "2"});
}

TEST(Resume, ClearsWhatAKilledRunWasWriting) {
  const FinishedRun run;
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  const fs::path left = run.folder.results_file().string() + "." + std::to_string(dead) + ".0123456789abcdef.tmp";
  write_text(left, "half");
  EXPECT_EQ(run.resume().exit_code, 0);
  EXPECT_FALSE(fs::exists(left));
}

TEST(RunFolder, IsOneRunsAtATime) {
  const RunFolder folder(tiny_config(kOffAndOn));
  Program first(folder.arguments({"--blocks", "100000"}));
  ASSERT_TRUE(first.wait_until([&] { return fs::exists(folder.folder / "run/run.lock"); }));
  const std::string words = folder.run() + " is in use by process " + std::to_string(first.pid()) + " on ";
  EXPECT_THAT(underlap_program(folder.arguments()), fails_with(2, words));
  EXPECT_THAT(underlap_program(folder.arguments({"--resume"})), fails_with(2, words));
}

TEST(RunFolder, HoldsNothingButResultsAtTheEnd) {
  const FinishedRun run;
  Words names;
  for (const auto& entry : fs::directory_iterator(run.folder.run())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("results.json", "report.md", "traces", "kernels"));
}

TEST(Resume, WritesThroughNoLink) {
  const FinishedRun run;
  const fs::path trace = run.folder.traces().front(), outside = run.folder.folder / "outside";
  fs::rename(trace, outside);
  const std::string before = read_text(outside);
  fs::create_symlink(outside, trace);
  EXPECT_THAT(run.resume(), fails_with(2, "is a link or not a regular file"));
  fs::remove(trace);
  EXPECT_THAT(run.resume(), fails_with(2, "is missing"));
  EXPECT_EQ(read_text(outside), before);
}

}  // namespace
}  // namespace underlap::bench
