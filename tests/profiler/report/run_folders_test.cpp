// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/run_folders.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap::report {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;  // NOLINT
using testing_support::TemporaryFolder;

void make_run(const fs::path& folder) {
  fs::create_directories(folder);
  testing_support::write_text(folder / "results.json", "{}");
}

TEST(RunFolders, OfASingleRunAreItself) {
  const TemporaryFolder folder;
  const fs::path series = folder / "series";
  make_run(series);
  make_run(run_of_series(series, 0));
  EXPECT_THAT(run_folders(series), ElementsAre(series));
}

TEST(RunFolders, HoldResultsAsTheyWereWrittenOrCompressed) {
  const TemporaryFolder folder;
  EXPECT_EQ(find_results(folder / ""), std::nullopt);
  EXPECT_EQ(find_results(folder / "none"), std::nullopt);
  for (const char* name : {"results.json.gz", "results.json.zst", "results.json"}) {
    testing_support::write_text(folder / name, "");
    EXPECT_EQ(find_results(folder / ""), folder / name);
    EXPECT_EQ(folder_of_run(folder / name), (folder / "").parent_path());
  }
  EXPECT_EQ(folder_of_run(folder / "run"), folder / "run");
  EXPECT_FALSE(is_results_file(folder / "results.json.xz"));
}

TEST(RunFolders, HoldResultsAlsoWhereTheyAreALinkThatLeadsNowhere) {
  const TemporaryFolder folder;
  fs::create_symlink("nowhere", folder / "results.json");
  EXPECT_EQ(find_results(folder / ""), folder / "results.json");
}

TEST(RunFolders, OfASeriesStandInTheOrderOfTheirNumbers) {
  const TemporaryFolder folder;
  const fs::path series = folder / "series";
  for (const int index : {100, 2, 11, 0}) make_run(run_of_series(series, index));
  fs::create_directories(run_of_series(series, 3));  // began, and has no results yet
  for (const char* other : {"run-", "run-1x", "run--1", "rum-05"}) make_run(series / other);
  EXPECT_THAT(run_folders(series),
              ElementsAre(series / "run-00", series / "run-02", series / "run-11", series / "run-100"));
}

TEST(RunFolders, OfASeriesTellWhichHaveNoResults) {
  const TemporaryFolder folder;
  const fs::path series = folder / "series";
  make_run(run_of_series(series, 2));
  fs::create_directories(run_of_series(series, 0));
  testing_support::write_text(series / "run-01", "a file");
  EXPECT_THAT(numbered_runs(series),
              ElementsAre(NumberedRun{0, series / "run-00", false}, NumberedRun{2, series / "run-02", true}));
  EXPECT_TRUE(is_folder_of_series(series));
  EXPECT_FALSE(is_folder_of_series(folder / ""));
  fs::create_directories(run_of_series(folder / "sides/candidate", 0));
  EXPECT_TRUE(is_folder_of_series(folder / "sides"));
}

TEST(RunFolders, AreNoneWhereNothingRan) {
  const TemporaryFolder folder;
  const fs::path series = folder / "series";
  EXPECT_THAT(run_folders(series), IsEmpty());
  fs::create_directories(series);
  EXPECT_THAT(run_folders(series), IsEmpty());
}

}  // namespace
}  // namespace underlap::report
