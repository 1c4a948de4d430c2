// SPDX-License-Identifier: Apache-2.0
// Who gives it nonsense: every mistake is named, none is a crash.
#include <fmt/format.h>

#include <ostream>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

struct WrongConfig {
  std::string yaml;
  std::string words;
};

void PrintTo(const WrongConfig& config, std::ostream* out) { *out << config.words; }

class WrongConfigs : public ::testing::TestWithParam<WrongConfig> {};

TEST_P(WrongConfigs, AreRefusedByPlanAndByRun) {
  const RunFolder folder(GetParam().yaml);
  EXPECT_THAT(underlap_program({"plan", folder.config()}), fails_with(2, GetParam().words));
  EXPECT_THAT(underlap_program(folder.arguments()), fails_with(2, GetParam().words));
  EXPECT_FALSE(std::filesystem::exists(folder.run()));
}

INSTANTIATE_TEST_SUITE_P(
    BadInput, WrongConfigs,
    ::testing::Values(WrongConfig{"", "the file is empty; write at least"}, WrongConfig{"- 1\n", "not a list"},
                      WrongConfig{"a: b: c\n", "config.yaml:1:5: not YAML"},
                      WrongConfig{"\x01\x02\xff\xfe", "config.yaml:1:1"},
                      WrongConfig{"modle: {preset: tiny}\n", "did you mean model?"},
                      WrongConfig{"model: {preset: tiny, hidden_sise: 8}\n", "did you mean model.hidden_size?"},
                      WrongConfig{"model: {preset: tiney}\n", "did you mean tiny?"},
                      WrongConfig{"model: {preset: tiny}\nzzz: 1\n", "config.yaml:2:1: unknown key \"zzz\""},
                      WrongConfig{"model: {preset: tiny, preset: tiny}\n", "duplicate key \"preset\""},
                      WrongConfig{"model: {preset: tiny, hidden_size: wide}\n", "must be a whole number from 1"},
                      WrongConfig{"model: {preset: tiny, hidden_size: -8}\n", "not \"-8\""},
                      WrongConfig{"model: {preset: tiny, hidden_size: 0}\n", "not \"0\""},
                      WrongConfig{"model: {preset: tiny, num_attention_heads: 3}\n", "does not divide"},
                      WrongConfig{"model: {preset: tiny}\ndata_parallel_size: 2\ntrain: {global_batch_size: 7}\n",
                                  "make it a multiple of 2"},
                      WrongConfig{"model: {preset: tiny}\nrun: {steps: 4096}\n", "from 1 to 4095"}));

struct WrongFlag {
  std::vector<std::string> words;
  std::string message;
};

void PrintTo(const WrongFlag& flag, std::ostream* out) { *out << ::testing::PrintToString(flag.words); }

class WrongFlags : public ::testing::TestWithParam<WrongFlag> {};

TEST_P(WrongFlags, AreRefusedByName) {
  const RunFolder folder(tiny_config());
  EXPECT_THAT(underlap_program(folder.arguments(GetParam().words)), fails_with(2, GetParam().message));
  EXPECT_FALSE(std::filesystem::exists(folder.run()));
}

INSTANTIATE_TEST_SUITE_P(BadInput, WrongFlags,
                         ::testing::Values(WrongFlag{{"--steps", "abc"}, "--steps: run.steps must be a whole number"},
                                           WrongFlag{{"--steps", "-1"}, "not \"-1\""},
                                           WrongFlag{{"--steps"}, "--steps"},
                                           WrongFlag{{"--link-gbps", "-1"}, "--link-gbps: run.link_gbps must be"},
                                           WrongFlag{{"--link-gbps", "nan"}, "must be a finite number"},
                                           WrongFlag{{"--seed", "99999999999999999999"}, "--seed"},
                                           WrongFlag{{"--backend", "gpu"}, "must be one of host, cuda, sim"},
                                           WrongFlag{{"--setps", "3"}, "--setps"}));

TEST(BadInput, ConfigThatIsNoFileIsRefused) {
  const testing_support::TemporaryFolder folder;
  for (const std::string command : {"plan", "run"}) {
    EXPECT_THAT(underlap_program({command, folder / "none.yaml"}), fails_with(2, "none.yaml: no such file"));
    EXPECT_THAT(
        underlap_program({command, folder / ""}),
        fails_with(2, command == "plan" ? "a directory without .yaml or .yml files" : "a directory, not a file"));
    EXPECT_THAT(underlap_program({command, UNDERLAP_PROGRAM}), fails_with(2, "larger than 1 MiB"));
    EXPECT_THAT(underlap_program({command}), fails_with(2, "CONFIG is required"));
  }
}

TEST(BadInput, FileOfAStudyIsRefusedWithTheCommandThatRunsIt) {
  const RunFolder folder("study: overlap_claims\n");
  const std::string words =
      fmt::format("{0} is the study overlap_claims and no matrix: underlap-study overlap_claims {0}", folder.config());
  for (const std::string command : {"plan", "check", "run"})
    EXPECT_THAT(underlap_program({command, folder.config()}), fails_with(2, words));
}

TEST(BadInput, DataFileThatHoldsNoSampleIsRefused) {
  const auto run_with = [](const std::string& data) {
    return underlap_program(RunFolder(tiny_config("train: {data: " + data + "}\n")).arguments());
  };
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "empty", "");
  testing_support::write_text(folder / "short", "0123456789abcdef");
  EXPECT_THAT(run_with(folder / "none"), fails_with(2, "no such file; name one that is there (train.data)"));
  EXPECT_THAT(run_with(folder / ""), fails_with(2, "a directory, not a file; name a file in it (train.data)"));
  EXPECT_THAT(run_with(folder / "empty"), fails_with(2, "is empty; name a text of at least 17 bytes (train.data)"));
  EXPECT_THAT(run_with(folder / "short"), fails_with(2, "has 16 bytes; seq_length 16 needs at least 17 (train.data)"));
}

TEST(BadInput, OutputFolderThatCannotBeMadeIsAFailedRun) {
  const RunFolder folder(tiny_config());
  EXPECT_THAT(underlap_program({"run", folder.config(), "-o", folder.config() + "/run"}),
              fails_with(3, "cannot make the folder"));
  EXPECT_THAT(underlap_program({"run", folder.config(), "-o", "/proc/run"}), fails_with(3, "cannot make the folder"));
}

TEST(BadInput, RunIsNeitherOverwrittenNorContinuedAsAnother) {
  const RunFolder folder(tiny_config());
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  const std::string results = testing_support::read_text(folder.folder / "run/results.json");
  EXPECT_THAT(underlap_program(folder.arguments()), fails_with(2, "holds a run already: --resume goes on with it"));
  EXPECT_THAT(underlap_program(folder.arguments({"--resume", "--steps", "3"})), fails_with(2, "run.steps was 2, is 3"));
  EXPECT_THAT(underlap_program(folder.arguments({"--resume", "--blocks", "1"})), fails_with(2, "2 finished blocks"));
  EXPECT_THAT(underlap_program({"run", folder.config(), "--resume"}), fails_with(2, "--resume needs -o DIR"));
  EXPECT_EQ(testing_support::read_text(folder.folder / "run/results.json"), results);
}

TEST(BadInput, TruncatedResultsAreNotContinued) {
  const RunFolder folder(tiny_config());
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  std::filesystem::resize_file(folder.folder / "run/results.json", 1000);
  EXPECT_THAT(underlap_program(folder.arguments({"--resume", "--blocks", "3"})),
              fails_with(2, "results.json: not valid JSON"));
}

TEST(BadInput, MatrixThatNoMemoryHoldsIsRefusedHoweverLarge) {
  const RunFolder folder("model: {preset: tiny, hidden_size: 100000, num_layers: 1000}\ndata_parallel_size: 8\n");
  EXPECT_THAT(underlap_program(folder.arguments()), fails_with(2, "): fewer layers or ranks fit"));
  EXPECT_FALSE(std::filesystem::exists(folder.run()));
}

}  // namespace
}  // namespace underlap::bench
