// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/stalls.hpp"

#include <gmock/gmock.h>

#include "profiler/report/report.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

constexpr std::int64_t kEightSecondsUs = 8'000'000;

// Five blocks of four steps of 1 ms, two ranks, with and without overlap.
RunResults steady_run() {
  RunResults results;
  results.blocks_planned = results.blocks_done = 5;
  for (const char* overlap : {"off", "on"}) {
    const bool is_on = overlap == std::string("on");
    const analysis::Split split = is_on ? split_of(500, 350, 50, 100) : split_of(600, 0, 400, 0);
    CellResult cell = cell_of(overlap, {{"overlap", overlap}}, {});
    for (int step = 0; step < 20; ++step) cell.samples.push_back(step_of(step / 4, step, {split, split}));
    results.cells.push_back(cell);
  }
  return results;
}

// Rank 1 stands for 8 s in what it computes, and rank 0 waits for it.
RunResults with_one_long_step() {
  RunResults results = steady_run();
  StepSample& sample = results.cells[1].samples[14];
  sample =
      step_of(3, 14, {split_of(500, 350, 50 + kEightSecondsUs, 100), split_of(500 + kEightSecondsUs, 350, 50, 100)});
  return results;
}

TEST(Stalls, NameTheStepTheRankAndWhatItStoodIn) {
  const std::vector<Stall> stalls = stalls_of(with_one_long_step().cells[1]);
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].rank, 1);
  EXPECT_EQ(stalls[0].longer_ns, kEightSecondsUs * 1000);
  EXPECT_EQ(stall_text(stalls[0]),
            "block 3 step 14 took 8001 ms (typically 1.00 ms): rank 1 was stopped during compute");
  EXPECT_TRUE(stalls_of(with_one_long_step().cells[0]).empty());
}

TEST(Stalls, BlameNoRankWhereAllWaitedForATransfer) {
  CellResult cell = steady_run().cells[1];
  const analysis::Split waits = split_of(500, 350, 50 + kEightSecondsUs, 100);
  cell.samples[5] = step_of(1, 5, {waits, waits});
  EXPECT_EQ(stall_text(stalls_of(cell).at(0)),
            "block 1 step 5 took 8001 ms (typically 1.00 ms): its ranks were stopped during communication");
}

TEST(Stalls, AreFoundWithoutRecorderAndInTheWindowOfOneRankAlone) {
  CellResult cell = steady_run().cells[1];
  for (StepSample& sample : cell.samples) sample.ranks.clear();
  cell.samples[0].step_ns = 2'500'000;
  EXPECT_EQ(stall_text(stalls_of(cell).at(0)), "block 0 step 0 took 2.50 ms (typically 1.00 ms)");
  CellResult late = steady_run().cells[1];
  late.samples[7].ranks[0] = split_of(500, 350, 50, 100 + kEightSecondsUs);
  EXPECT_THAT(stall_text(stalls_of(late).at(0)), HasSubstr("rank 0 was stopped during idle"));
}

TEST(Stalls, AreNotWhatAlwaysVaries) {
  CellResult cell = steady_run().cells[0];
  EXPECT_TRUE(stalls_of(cell).empty());
  cell.samples[3].step_ns = 1'900'000;
  EXPECT_TRUE(stalls_of(cell).empty()) << "less than twice the median";
  for (std::size_t i = 0; i < cell.samples.size(); ++i) cell.samples[i].step_ns = i % 2 == 0 ? 1'000'000 : 1'500'000;
  cell.samples[3].step_ns = 3'000'000;
  EXPECT_TRUE(stalls_of(cell).empty()) << "median 1.25 ms, deviation 0.25 ms";
  cell.samples[3].step_ns = 3'300'000;
  EXPECT_EQ(stalls_of(cell).size(), 1U);
  EXPECT_TRUE(stalls_of(CellResult{}).empty());
}

// All that stands below the warnings.
std::string without_warning(const std::string& text) {
  const std::size_t begin = text.find("STALL");
  if (begin == std::string::npos) return text;
  return text.substr(0, begin) + text.substr(text.find('\n', begin) + 1);
}

TEST(RunText, MovesNoFigureForAStepThatStoodStillAndNamesIt) {
  RunResults steady = steady_run();
  RunResults stalled = with_one_long_step();
  for (RunResults* results : {&steady, &stalled})
    for (CellResult& cell : results->cells) {
      const bool is_left_out = results == &stalled;
      cell.bound_ns = 500'000;
      cell.bound_kernel_ns["fc1"] = 400'000;
      cell.kernel_windows = cell.name == "on" && is_left_out ? 38 : 40;
      cell.kernel_ns["fc1"] = cell.kernel_windows * 450'000;
    }
  const TableFormat format{.width = 240};
  const std::string text = run_text(stalled, format, Details::included);
  EXPECT_THAT(text,
              HasSubstr("STALL in cell on: block 3 step 14 took 8001 ms (typically 1.00 ms): rank 1 was stopped during "
                        "compute; excluded from all figures\n"));
  EXPECT_THAT(report_markdown(stalled), HasSubstr("STALL in cell on: block 3 step 14"));
  EXPECT_EQ(without_warning(text), run_text(steady, format, Details::included));
  EXPECT_THAT(run_text(steady, format, Details::included), Not(HasSubstr("STALL")));
}

TEST(RunText, NamesTheFirstOfManyStepsThatStoodStill) {
  RunResults results = steady_run();
  for (const std::size_t step : {1U, 5U, 9U, 13U, 17U}) results.cells[0].samples[step].step_ns = 9'000'000;
  EXPECT_THAT(run_text(results, {.width = 240}, Details::left_out), HasSubstr("STALL: 2 more steps"));
  EXPECT_THAT(report_markdown(results), HasSubstr("block 4 step 17"));
}

}  // namespace
}  // namespace underlap::report
