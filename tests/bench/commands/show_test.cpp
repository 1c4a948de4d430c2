// SPDX-License-Identifier: Apache-2.0
// Who looks at a run again, or sends it to somebody.
#include <algorithm>

#include "platform/json.hpp"
#include "profiler/report/results.hpp"
#include "tests/bench/commands/compressed_results.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A run of two cells, made once for all tests.
class Show : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new RunFolder(
        tiny_config("data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n"));
    ran_ = underlap_program(folder_->arguments());
  }
  static void TearDownTestSuite() { delete folder_; }

  static Outcome show(const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{"show", folder_->run()};
    words.insert(words.end(), options.begin(), options.end());
    return underlap_program(words);
  }

  static inline RunFolder* folder_ = nullptr;
  static inline Outcome ran_;
};

TEST_F(Show, PrintsWhatTheRunPrinted) {
  ASSERT_EQ(ran_.exit_code, 0) << ran_.err;
  const Outcome shown = show();
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("overlap_grad_reduce=true"));
  EXPECT_THAT(ran_.out, StartsWith(shown.out));
}

TEST_F(Show, PrintsMoreWithDetails) {
  const std::string brief = show().out;
  const std::string detailed = show({"--details"}).out;
  EXPECT_GT(detailed.size(), brief.size());
  EXPECT_THAT(detailed, HasSubstr("Communication by mode"));
}

TEST_F(Show, TakesTheFilesOfARunForTheRun) {
  for (const char* file : {"results.json", "report.md"}) {
    const Outcome shown = underlap_program({"show", folder_->folder / "run" / file});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(shown.out, show().out);
  }
}

TEST_F(Show, ReadsCompressedResultsAsOtherCommandsDo) {
  const testing_support::TemporaryFolder recorded;
  testing_support::write_text(recorded / "results.json",
                              testing_support::read_text(std::filesystem::path(folder_->run()) / "results.json"));
  const std::filesystem::path file = compress_results(recorded / "");
  for (const std::filesystem::path& named : {recorded / "", file}) {
    EXPECT_EQ(underlap_program({"show", named}).out, show().out);
    EXPECT_EQ(underlap_program({"compare", folder_->run(), named}).exit_code, 0);
    EXPECT_THAT(underlap_program({"compare", named, "--cells", "none", "none"}), fails_with(2, "it has: "));
    EXPECT_THAT(underlap_program({"scaling", named}), fails_with(2, "no cell is at two sizes"));
    EXPECT_THAT(underlap_program({"gate", folder_->run(), named}), fails_with(2, "are the same run"));
  }
  const std::string bytes = testing_support::read_text(file);
  testing_support::write_text(file, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(underlap_program({"show", recorded / ""}), fails_with(2, "results.json.zst: compressed data is cut"));
}

TEST_F(Show, PrintsAHalfFinishedRun) {
  report::RunResults results = report::read_results(folder_->run());
  results.blocks_planned = 7;
  const testing_support::TemporaryFolder half;
  report::write_results(half / "", results, report::Statistics::left_out);
  const Outcome shown = underlap_program({"show", half / ""});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("2 of 7 blocks"));
}

TEST_F(Show, PrintsJsonThatIsReadAsTheSameRun) {
  const Outcome shown = show({"--json"});
  const auto json = parse_json(shown.out);
  EXPECT_EQ(json["schema"], "underlap.results/1");
  EXPECT_TRUE(json["cells"][0].contains("statistics"));
  const testing_support::TemporaryFolder copy;
  testing_support::write_text(copy / "results.json", shown.out);
  EXPECT_EQ(underlap_program({"show", copy / ""}).out, show().out);
}

TEST_F(Show, WritesTheReportAgain) {
  const std::string report = testing_support::read_text(std::filesystem::path(folder_->run()) / "report.md");
  EXPECT_EQ(show({"--markdown", "-"}).out, report);
  const testing_support::TemporaryFolder out;
  EXPECT_EQ(show({"--markdown", out / "page.md"}).exit_code, 0);
  EXPECT_EQ(testing_support::read_text(out / "page.md"), report);
  EXPECT_THAT(show({"--markdown", "-", "--csv"}).err, HasSubstr("different outputs"));
}

TEST_F(Show, PrintsOneRowACellAsCsv) {
  const std::string csv = show({"--csv"}).out;
  EXPECT_THAT(csv, StartsWith("cell,backend,times_are,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2);
}

TEST_F(Show, WritesThePageToAFileOrToStandardOutput) {
  const std::string file = folder_->folder / "page.html";
  EXPECT_EQ(show({"--html", file}).exit_code, 0);
  const std::string page = testing_support::read_text(file);
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(show({"--html", "-"}).out, page);
  EXPECT_THAT(show({"--html", "/proc/page.html"}), fails_with(3, "/proc/page.html"));
}

TEST_F(Show, WritesOneKindOfOutputAtATime) {
  EXPECT_THAT(show({"--csv", "--json"}), fails_with(2, "ask for one of them"));
  EXPECT_THAT(show({"--details", "--csv"}), fails_with(2, "--details is for the tables of a terminal"));
}

TEST_F(Show, WhatIsNoRunIsRefusedWithWhatIs) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "config.yaml", "model: {preset: tiny}\n");
  EXPECT_THAT(underlap_program({"show", folder / "none"}), fails_with(2, "none: no such folder"));
  EXPECT_THAT(underlap_program({"show", folder / ""}), fails_with(2, "it holds no results.json"));
  EXPECT_THAT(underlap_program({"show", folder / "config.yaml"}), fails_with(2, "a file, not the folder of a run"));
  testing_support::write_text(folder / "results.json", "{\"schema\": \"underlap.results/1\"}");
  EXPECT_THAT(underlap_program({"show", folder / ""}), fails_with(2, "results.json: the document has no"));
}

}  // namespace
}  // namespace underlap::bench
