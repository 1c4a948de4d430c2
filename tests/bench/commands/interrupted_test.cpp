// SPDX-License-Identifier: Apache-2.0
// Who kills it, or runs out of disk: finished blocks stay, and --resume goes on behind them.
#include <signal.h>

#include "platform/json.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const std::string kConfig =
    tiny_config("data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");

std::string text_of(const report::StepSample& sample) {
  std::string text = std::to_string(sample.block) + " " + std::to_string(sample.step) + " " +
                     std::to_string(sample.step_ns) + " " + std::to_string(sample.loss.value());
  for (const analysis::Split& rank : sample.ranks)
    text += " " + std::to_string(rank.window_ns) + " " + std::to_string(rank.hidden_ns) + " " +
            std::to_string(rank.exposed_ns());
  return text;
}

std::vector<std::string> texts_of(const report::CellResult& cell) {
  std::vector<std::string> texts;
  for (const report::StepSample& sample : cell.samples) texts.push_back(text_of(sample));
  return texts;
}

std::int64_t num_windows(const std::filesystem::path& trace) {
  const Outcome outcome = underlap_program({"analyze", "--json", trace});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return parse_json(outcome.out)["ranks"][0]["steps"]["count"];
}

/// Goes on with what is in the folder for two more blocks; nothing that was finished may change.
void expect_resumes(const RunFolder& folder) {
  const report::RunResults before = report::read_results(folder.run());
  const std::int32_t blocks = before.blocks_done + 2;
  const Outcome outcome = underlap_program(folder.arguments({"--resume", "--blocks", std::to_string(blocks)}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const report::RunResults after = report::read_results(folder.run());
  EXPECT_EQ(after.blocks_done, blocks);
  EXPECT_THAT(after.resumed_at_blocks, ::testing::ElementsAre(before.blocks_done));
  for (std::size_t c = 0; c < after.cells.size(); ++c) {
    std::vector<std::string> kept = texts_of(after.cells[c]);
    ASSERT_EQ(kept.size(), static_cast<std::size_t>(blocks) * 2);
    kept.resize(before.cells[c].samples.size());
    EXPECT_EQ(kept, texts_of(before.cells[c]));
    EXPECT_EQ(num_windows(folder.traces()[c]), blocks * 2);
  }
}

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

INSTANTIATE_TEST_SUITE_P(Interrupted, Signals, ::testing::Values(SIGKILL, SIGINT, SIGTERM));

TEST(Interrupted, FullDiskFailsTheRunAndKeepsTheFinishedBlocks) {
  const RunFolder folder(kConfig);
  const Outcome outcome = underlap_program(folder.arguments({"--blocks", "100000"}), {.file_bytes = 120'000});
  EXPECT_THAT(outcome, fails_with(3, "File too large"));
  EXPECT_GE(report::read_results(folder.run()).blocks_done, 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder.run()))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  for (const auto& trace : folder.traces()) EXPECT_EQ(underlap_program({"analyze", trace}).exit_code, 0);
  expect_resumes(folder);
}

TEST(Resume, RefusesBlocksOfAnotherBuild) {
  const RunFolder folder(kConfig);
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  report::RunResults results = report::read_results(folder.run());
  results.info.commit = "0123456789ab";
  write_results(folder.run(), results);
  EXPECT_THAT(underlap_program(folder.arguments({"--resume", "--blocks", "3"})), fails_with(2, "another commit"));
}

}  // namespace
}  // namespace underlap::bench
