// SPDX-License-Identifier: Apache-2.0
// --resume: what it goes on with, what it begins, and what it refuses, and why.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ostream>

#include "platform/json.hpp"
#include "tests/bench/commands/compressed_results.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using testing_support::read_text;
using testing_support::write_text;
namespace fs = std::filesystem;

const std::string kMatrix = "data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n";

/// A finished run in virtual time.
struct FinishedRun {
  explicit FinishedRun(const std::string& more = "", const std::vector<std::string>& arguments = {})
      : folder(tiny_config(kMatrix + more)) {
    std::vector<std::string> words = folder.arguments({"--backend", "sim"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Outcome outcome = underlap_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  Outcome resume(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = folder.arguments({"--backend", "sim", "--resume", "--blocks", "3"});
    words.insert(words.end(), more.begin(), more.end());
    return underlap_program(words);
  }

  fs::path results() const { return folder.folder / "run/results.json"; }

  RunFolder folder;
};

TEST(Resume, VirtualTimeGoesOnBehindTheLastBlock) { expect_resumes(FinishedRun().folder, {"--backend", "sim"}); }

TEST(Resume, CompressedResultsAreTakenUpAndWrittenPlain) {
  const FinishedRun run;
  const fs::path compressed = compress_results(run.folder.run());
  EXPECT_THAT(underlap_program(run.folder.arguments({"--backend", "sim"})), fails_with(2, "holds a run already"));
  EXPECT_EQ(run.resume().exit_code, 0);
  EXPECT_TRUE(fs::exists(run.results()));
  EXPECT_FALSE(fs::exists(compressed));
  EXPECT_EQ(report::read_results(run.folder.run()).blocks_done, 3);
}

TEST(Resume, RefusesBlocksOfAnotherBuild) {
  const FinishedRun run;
  report::RunResults results = report::read_results(run.folder.run());
  results.info.commit = "0123456789ab";
  write_results(run.folder.run(), results);
  EXPECT_THAT(run.resume(), fails_with(2, "another commit: was 0123456789ab, is "));
}

TEST(Resume, SaysWhichSettingsDiffer) {
  const FinishedRun run;
  EXPECT_THAT(run.resume({"--steps", "3"}), fails_with(2, "holds another run"));
  EXPECT_THAT(run.resume({"--steps", "3"}), fails_with(2, "\n  run.steps was 2, is 3\n"));
  EXPECT_THAT(run.resume({"--steps", "3", "--seed", "7"}), fails_with(2, "\n  run.seed was left out, is 7\n"));
  write_text(run.folder.config(),
             tiny_config("data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false]}\n"));
  EXPECT_THAT(run.resume(), fails_with(2, "the matrix had 2 cells, has 1"));
}

TEST(Resume, SeesThatADataFileHoldsSomethingElse) {
  const testing_support::TemporaryFolder files;
  write_text(files / "text", std::string(1000, 'a'));
  const FinishedRun run("train: {data: " + (files / "text").string() + "}\n");
  write_text(files / "text", std::string(1000, 'b'));
  EXPECT_THAT(run.resume(), fails_with(2, "the file " + (files / "text").string() + " holds something else"));
  write_text(files / "text", std::string(1000, 'a'));
  EXPECT_EQ(run.resume().exit_code, 0);
}

TEST(Resume, SeesThatAHardwareFileHoldsSomethingElse) {
  const testing_support::TemporaryFolder files;
  const std::string hardware = files / "gpu.yaml";
  fs::copy_file(std::string(UNDERLAP_SOURCE_DIR) + "/results/hardware/h100-sxm.yaml", hardware);
  const FinishedRun run("", {"--hardware", hardware});
  write_text(hardware, read_text(hardware) + "# changed\n");
  EXPECT_THAT(run.resume({"--hardware", hardware}), fails_with(2, "the file " + hardware + " holds something else"));
}

TEST(Resume, GoesOnWithResultsThatHoldNoHashesOfFiles) {
  const testing_support::TemporaryFolder files;
  write_text(files / "text", std::string(1000, 'a'));
  const FinishedRun run("train: {data: " + (files / "text").string() + "}\n");
  report::RunResults results = report::read_results(run.folder.run());
  results.info.input_hashes.clear();
  results.info.config_hash = "of an earlier Underlap";
  write_results(run.folder.run(), results);
  const Outcome outcome = run.resume();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Resume, BeginsWhereNoBlockIsFinished) {
  const RunFolder folder(tiny_config(kMatrix));
  const Outcome outcome = underlap_program(folder.arguments({"--backend", "sim", "--resume"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("holds no finished block: the run begins\n"));
  report::RunResults results = report::read_results(folder.run());
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
  const fs::path left = run.results().string() + "." + std::to_string(dead) + ".0123456789abcdef.tmp";
  write_text(left, "half");
  EXPECT_EQ(run.resume().exit_code, 0);
  EXPECT_FALSE(fs::exists(left));
}

TEST(RunFolder, IsOneRunsAtATime) {
  const RunFolder folder(tiny_config(kMatrix));
  Program first(folder.arguments({"--blocks", "100000"}));
  ASSERT_TRUE(first.wait_until([&] { return fs::exists(folder.folder / "run/run.lock"); }));
  const std::string words = folder.run() + " is in use: process " + std::to_string(first.pid()) + " on ";
  EXPECT_THAT(underlap_program(folder.arguments()), fails_with(2, words));
  EXPECT_THAT(underlap_program(folder.arguments({"--resume"})), fails_with(2, words));
}

TEST(RunFolder, HoldsNothingButResultsAtTheEnd) {
  const FinishedRun run;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run.folder.run())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("results.json", "report.md", "traces", "kernels"));
}

/// A change of results.json that nobody's run makes.
struct Nonsense {
  std::string pointer;
  std::string value;
  std::string words;
};

void PrintTo(const Nonsense& nonsense, std::ostream* out) { *out << nonsense.pointer << " = " << nonsense.value; }

class NonsenseInResults : public ::testing::TestWithParam<Nonsense> {};

TEST_P(NonsenseInResults, IsRefusedWithItsPlace) {
  const FinishedRun run;
  auto json = parse_json(read_text(run.results()));
  json[nlohmann::ordered_json::json_pointer(GetParam().pointer)] = parse_json(GetParam().value);
  const std::string changed = json_text(json);
  write_text(run.results(), changed);
  EXPECT_THAT(run.resume(), fails_with(2, GetParam().words));
  EXPECT_EQ(read_text(run.results()), changed);
}

INSTANTIATE_TEST_SUITE_P(
    Resume, NonsenseInResults,
    ::testing::Values(Nonsense{"/cells", "[]", "/cells is empty"}, Nonsense{"/cells", "7", "/cells is number"},
                      Nonsense{"/cells/0", "null", "/cells/0 is null"},
                      Nonsense{"/cells/0/samples", "[]", "holds 0 steps of cell"},
                      Nonsense{"/cells/0/samples/0", "{}", "has no \"block\""},
                      Nonsense{"/cells/0/samples/0/block", "1", "follows step 2 of block 1"},
                      Nonsense{"/cells/0/samples/0/block", "-1", "samples/0/block is -1"},
                      Nonsense{"/cells/0/samples/0/step", "-1", "step is -1, must not be negative"},
                      Nonsense{"/cells/0/samples/3/step", "2147483647", "counted beyond 2^31"},
                      Nonsense{"/cells/0/samples/0/step", "1e30", "must be a whole number"},
                      Nonsense{"/cells/0/samples/0/step_ns", "-5", "step_ns is -5"},
                      Nonsense{"/cells/0/samples/0/ranks/0/window_ns", "9223372036854775807", "longer than any"},
                      Nonsense{"/cells/0/samples/0/ranks/0/idle_ns", "-1", "idle_ns is -1"},
                      Nonsense{"/cells/0/num_ranks", "-2", "num_ranks is -2"},
                      Nonsense{"/cells/0/trace_bytes", "-1", "trace_bytes is -1"},
                      Nonsense{"/cells/0/trace_bytes", "999999999", "and its finished blocks took 999999999"},
                      Nonsense{"/cells/0/trace_bytes", "0", "and its finished blocks took 0"},
                      Nonsense{"/cells/0/trace_file", "\"../../x\"", "outside the folder of the run"},
                      Nonsense{"/cells/0/trace_file", "\"/etc/passwd\"", "outside the folder of the run"},
                      Nonsense{"/cells/0/trace_file", "\"results.json\"", "must be \"traces/00-"},
                      Nonsense{"/cells/0/plan", "3", "was left out, is false in cell overlap_grad_reduce=false\n"},
                      Nonsense{"/blocks_done", "5", "blocks_done is 5, outside 0 to blocks_planned"},
                      Nonsense{"/blocks_done", "-1", "blocks_done is -1"},
                      Nonsense{"/blocks_done", "\"two\"", "blocks_done is \"two\""},
                      Nonsense{"/resumed_at_blocks", "[-3]", "resumed_at_blocks holds -3"},
                      Nonsense{"/run/num_cpus", "-1", "num_cpus is -1"},
                      Nonsense{"/run/input_hashes", "[]", "input_hashes is array"},
                      Nonsense{"/run", "[]", "/run is array"}));

TEST(Resume, WaitsForNoPipeInPlaceOfResults) {
  const FinishedRun run;
  fs::remove(run.results());
  ASSERT_EQ(::mkfifo(run.results().c_str(), 0644), 0);
  EXPECT_THAT(run.resume(), fails_with(2, "results.json: a named pipe, not a file"));
}

TEST(Resume, WritesThroughNoLink) {
  const FinishedRun run;
  const fs::path trace = run.folder.traces().front(), outside = run.folder.folder / "outside";
  fs::rename(trace, outside);
  const std::string before = read_text(outside);
  fs::create_symlink(outside, trace);
  EXPECT_THAT(run.resume(), fails_with(2, "is a link or no file"));
  fs::remove(trace);
  EXPECT_THAT(run.resume(), fails_with(2, "is missing"));
  EXPECT_EQ(read_text(outside), before);
}

}  // namespace
}  // namespace underlap::bench
