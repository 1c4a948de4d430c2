// SPDX-License-Identifier: Apache-2.0
// Several fresh processes of one matrix, and two builds that take turns.
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::read_text;
using testing_support::write_text;

report::RunInfo info_of(const fs::path& run) { return report::read_results(run).info; }

std::size_t num_runs(const fs::path& folder) { return report::run_folders(folder).size(); }

// A program that writes its name down before it becomes ours.
std::string wrapper(const fs::path& file, const fs::path& log, const std::string& first = "") {
  write_text(file, "#!/bin/sh\n" + first + "[ \"$1\" = run ] && echo " + file.filename().string() + " >>" +
                       log.string() + "\nexec " UNDERLAP_PROGRAM " \"$@\"\n");
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

TEST(Series, AreFreshProcessesWhoseResultsKnowEachOther) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  const Outcome outcome = underlap_program(folder.arguments({"--runs", "3", "--steps", "3"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("run 3 of 3: "));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("spread %"), HasSubstr("underlap baseline save")));
  const auto runs = report::run_folders(folder.run());
  ASSERT_EQ(runs.size(), 3U);
  for (std::int32_t i = 0; i < 3; ++i) {
    const report::RunResults results = report::read_results(runs[static_cast<std::size_t>(i)]);
    EXPECT_EQ(results.info.series, info_of(runs[0]).series);
    EXPECT_EQ(results.info.series_run, i);
    EXPECT_EQ(results.info.series_side, "");
    EXPECT_EQ(results.cells[0].samples.size(), 6U);  // the options hold for all
  }
  EXPECT_EQ(underlap_program({"show", folder.run()}).out, outcome.out);
  EXPECT_THAT(underlap_program({"show", folder.run(), "--csv"}), fails_with(2, "/run-00"));
}

TEST(Series, OfTwoBuildsAlternateWhoBegins) {
  const RunFolder folder(tiny_config());
  const fs::path log = folder.folder / "log";
  const std::string other = wrapper(folder.folder / "older", log);
  const Outcome outcome = underlap_program(folder.arguments({"--runs", "3", "--interleave", other}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_text(log), "older\nolder\nolder\n");
  const std::string& err = outcome.err;
  for (const char* line : {"run 1 of 6 (baseline)", "run 2 of 6 (candidate)", "run 3 of 6 (candidate)",
                           "run 4 of 6 (baseline)", "run 5 of 6 (baseline)", "run 6 of 6 (candidate)"})
    EXPECT_THAT(err, HasSubstr(line));
  for (const char* side : {"baseline", "candidate"}) {
    EXPECT_EQ(num_runs(folder.run() + "/" + side), 3U);
    EXPECT_EQ(info_of(folder.run() + "/" + side + "/run-01").series_side, side);
    EXPECT_EQ(info_of(folder.run() + "/" + side + "/run-01").series_run, 1);
  }
  EXPECT_THAT(underlap_program({"gate", folder.run() + "/baseline", folder.run() + "/candidate"}).out,
              HasSubstr("runs took turns and are compared in pairs"));
}

TEST(Series, OfABuildThatKnowsNoSeriesBelongToItAllTheSame) {
  const RunFolder folder(tiny_config());
  const std::string other = wrapper(folder.folder / "older", folder.folder / "log", "unset UNDERLAP_SERIES\n");
  ASSERT_EQ(underlap_program(folder.arguments({"--runs", "1", "--interleave", other})).exit_code, 0);
  const report::RunInfo info = info_of(folder.run() + "/baseline/run-00");
  EXPECT_EQ(info.series, info_of(folder.run() + "/candidate/run-00").series);
  EXPECT_EQ(info.series_side, "baseline");
}

TEST(Series, OfTwoConfigurationsTakeTurns) {
  const RunFolder folder(tiny_config());
  write_text(folder.folder / "other.yaml", tiny_config("train: {micro_batch_size: 2}\n"));
  const Outcome outcome =
      underlap_program(folder.arguments({"--runs", "1", "--interleave", folder.folder / "other.yaml"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(info_of(folder.run() + "/baseline/run-00").command, HasSubstr("other.yaml"));
  EXPECT_THAT(info_of(folder.run() + "/candidate/run-00").command, HasSubstr("config.yaml"));
}

TEST(Series, GoOnWhereTheyWereKilled) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  {
    Program program(folder.arguments({"--runs", "40"}));
    ASSERT_TRUE(program.wait_until([&] { return num_runs(folder.run()) >= 2; }));
    program.send(SIGKILL);
    program.wait();
  }
  EXPECT_THAT(underlap_program(folder.arguments({"--runs", "1"})), fails_with(2, "--resume goes on with its series"));
  const std::string first = read_text(folder.run() + "/run-00/results.json");
  const Outcome resumed = underlap_program(folder.arguments({"--runs", "4", "--resume"}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_GE(num_runs(folder.run()), 4U);
  EXPECT_EQ(report::read_results(folder.run() + "/run-00").cells[0].samples.size(), 4U);
  std::set<std::string> series;
  for (const fs::path& run : report::run_folders(folder.run())) series.insert(info_of(run).series);
  EXPECT_EQ(series.size(), 1U);
}

TEST(Series, SayWhatIsKeptWhenASignalEndsThem) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  Program program(folder.arguments({"--runs", "400"}));
  ASSERT_TRUE(program.wait_until([&] { return num_runs(folder.run()) >= 2; }));
  EXPECT_THAT(underlap_program(folder.arguments({"--runs", "400", "--resume"})), fails_with(2, "is in use: process"));
  program.send(SIGTERM);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("stopped by SIGTERM; "), HasSubstr(" of 400 runs are whole"),
                                 HasSubstr("--runs 400"), HasSubstr("--resume")));
}

TEST(Series, EndWithTheRunThatFails) {
  const RunFolder folder(tiny_config());
  const fs::path log = folder.folder / "log";
  const std::string other = wrapper(folder.folder / "older", log,
                                    "[ \"$1\" = run ] && [ -e " + log.string() + " ] && { echo no luck; exit 3; }\n");
  const Outcome outcome = underlap_program(folder.arguments({"--runs", "3", "--interleave", other}));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("no luck"), HasSubstr("run 4 of 6 (baseline) ended with exit status 3"),
                                 HasSubstr("baseline/run-01.txt"), HasSubstr("3 runs are kept; go on with: ")));
  EXPECT_EQ(read_text(folder.run() + "/baseline/run-01.txt"), "no luck\n");
}

TEST(Series, RefuseWhatCannotBeOne) {
  const RunFolder folder(tiny_config());
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    EXPECT_THAT(underlap_program(folder.arguments(words)), fails_with(2, why));
  };
  refused({"--runs", "0"}, "--runs");
  refused({"--runs", "banana"}, "--runs");
  refused({"--runs", "1000000000"}, "--runs");
  refused({"--runs", "2", "--interleave", "/bin/true"}, "is no program of Underlap");
  refused({"--runs", "2", "--interleave", "/nowhere"}, "/nowhere: no such file");
  refused({"--runs", "2", "--interleave", ""}, "is empty");
  refused({"--runs", "2", "--details"}, "underlap show DIR/run-00 --details");
  refused({"--interleave", UNDERLAP_SOURCE_DIR "/README.md"}, "README.md");
  EXPECT_FALSE(fs::exists(folder.run()));
  EXPECT_THAT(underlap_program(folder.arguments(), {.environment = {{"UNDERLAP_SERIES", "mine"}}}),
              fails_with(2, "UNDERLAP_SERIES is \"mine\""));
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  refused({"--runs", "2"}, "holds a single run");
  EXPECT_THAT(underlap_program({"run", folder.config(), "--runs", "7", "--dry-run"}).out,
              HasSubstr("7 runs, one after the other, each:"));
}

}  // namespace
}  // namespace underlap::bench
