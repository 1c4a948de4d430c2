// SPDX-License-Identifier: Apache-2.0
// Several fresh processes of one matrix, and two builds that take turns.
#include <csignal>
#include <set>

#include "profiler/report/run_folders.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

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
  const Outcome outcome = folder.measure({"--runs", "3", "--steps", "3"});
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
  const Outcome outcome = folder.measure({"--runs", "3", "--interleave", other});
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
              HasSubstr("runs are interleaved and compared in pairs"));
}

TEST(Series, OfABuildThatKnowsNoSeriesBelongToItAllTheSame) {
  const RunFolder folder(tiny_config());
  const std::string other = wrapper(folder.folder / "older", folder.folder / "log", "unset UNDERLAP_SERIES\n");
  folder.measure({"--runs", "1", "--interleave", other});
  const report::RunInfo info = info_of(folder.run() + "/baseline/run-00");
  EXPECT_EQ(info.series, info_of(folder.run() + "/candidate/run-00").series);
  EXPECT_EQ(info.series_side, "baseline");
}

TEST(Series, OfTwoConfigurationsTakeTurns) {
  const RunFolder folder(tiny_config());
  write_text(folder.folder / "other.yaml", tiny_config("comm_overlap: {bucket_size: 20000}\n"));
  folder.measure({"--runs", "1", "--interleave", folder.folder / "other.yaml"});
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
  EXPECT_THAT(underlap_program(folder.arguments({"--runs", "1"})), fails_with(2, "continue its series with --resume"));
  const std::string first = read_text(folder.run() + "/run-00/results.json");
  folder.measure({"--runs", "4", "--resume"});
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
  EXPECT_THAT(underlap_program(folder.arguments({"--runs", "400", "--resume"})), fails_with(2, "is in use by process"));
  program.send(SIGTERM);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("stopped by SIGTERM; "), HasSubstr(" of 400 runs are complete"),
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
                                 HasSubstr("baseline/run-01.txt"), HasSubstr("3 runs are kept; continue with: ")));
  EXPECT_EQ(read_text(folder.run() + "/baseline/run-01.txt"), "no luck\n");
}

// A gate would refuse all of it afterwards.
TEST(Series, OfTwoConfigurationsThatNoGateTakesAreRefusedBeforeTheFirstRun) {
  const RunFolder folder(tiny_config());
  const auto refused = [&](const std::string& config, const std::string& why) {
    write_text(folder.folder / "other.yaml", config);
    EXPECT_THAT(underlap_program(folder.arguments({"--interleave", folder.folder / "other.yaml"})), fails_with(2, why));
  };
  refused(tiny_config("data_parallel_size: 2\n"), "ranks is 2 in the baseline and 1 in the candidate");
  refused(tiny_config("matrix: {overlap: [{name: off, comm_overlap.overlap_grad_reduce: false}]}\n"),
          "its cells are off, but those of ");
  std::string modelled = tiny_config();
  const std::size_t place = modelled.find("run: {");
  ASSERT_NE(place, std::string::npos) << modelled;
  refused(modelled.insert(place + 6, "backend: sim, hardware: h100-sxm, "), "backend is sim in the baseline and host");
  EXPECT_FALSE(fs::exists(folder.run()));
}

/// Copies of one run, each with another beginning: run-00 and on of five that were to be.
void copy_runs(const fs::path& run, const fs::path& series, std::int32_t count) {
  for (std::int32_t i = 0; i < count; ++i) {
    report::RunResults results = report::read_results(run);
    results.info.started_utc = "2026-01-0" + std::to_string(i + 1);
    results.info.command = "underlap run c.yaml -o " + series.string() + "/run-00";
    results.info.series = "s";
    results.info.series_run = i;
    results.info.series_runs = 5;
    fs::create_directories(report::run_of_series(series, i));
    report::write_results(report::run_of_series(series, i), results);
  }
}

TEST(Series, ThatAreNotWholeAreShownAndNeitherGatedNorSaved) {
  const RunFolder folder(tiny_config());
  folder.measure();
  const fs::path series = folder.folder / "series", other = folder.folder / "other";
  copy_runs(folder.run(), other, 5);
  write_text(other / "run-00.txt", "what it printed\n");
  EXPECT_THAT(underlap_program({"gate", other / "run-0*", other / "run-0?"}), fails_with(2, "are the same run"));
  const auto refused_because = [&](const std::string& why) {
    const std::string mend = "finish it: underlap run c.yaml -o " + series.string() + " --runs 5 --resume";
    for (const auto& words : {Words{"gate", series, other},
                              {"gate", other, series},
                              {"baseline", "save", series, "-o", folder.folder / "saved"}}) {
      EXPECT_THAT(underlap_program(words), fails_with(2, series.string() + ": " + why));
      EXPECT_THAT(underlap_program(words), fails_with(2, mend));
    }
  };
  copy_runs(folder.run(), series, 3);
  refused_because("3 of 5 planned runs exist");
  EXPECT_THAT(underlap_program({"show", series}).out,
              AllOf(HasSubstr("spread %"), HasSubstr("note: "), HasSubstr("3 of 5 planned runs exist")));
  copy_runs(folder.run(), series, 5);
  fs::remove(series / "run-02/results.json");
  refused_because("run-02 has no results.json");
  EXPECT_THAT(underlap_program({"gate", other, series / "run-0*"}), fails_with(2, "run-02: has no results.json"));
  fs::remove_all(series / "run-02");
  refused_because("run-02 is missing");
  report::RunResults half = report::read_results(series / "run-01");
  half.blocks_planned += 3;
  copy_runs(folder.run(), series, 5);
  report::write_results(series / "run-03", half);
  refused_because("run-03 has 2 of 5 blocks");
  for (int i = 0; i < 5; ++i) fs::remove(report::run_of_series(series, i) / "results.json");
  EXPECT_THAT(underlap_program({"gate", other, series}),
              fails_with(2, "none of its 5 runs has results: each failed or was stopped"));
  EXPECT_THAT(underlap_program({"show", series}), fails_with(2, "none of its 5 runs has results"));
}

}  // namespace
}  // namespace underlap::bench
