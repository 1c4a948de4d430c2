// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/cell_traces.hpp"
#include "bench/measure/kernel_files.hpp"
#include "profiler/formats/format.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using Which = plan::KeptTraces::Which;

// One measured step of so many ranks.
report::BlockRun run_of(std::int32_t num_ranks, std::int64_t step_ns) {
  report::BlockRun run;
  run.num_steps = 2;
  for (std::int32_t rank = 0; rank < num_ranks; ++rank)
    run.figures.windows.push_back({.rank = rank, .block = 0, .step = 1, .begin_ns = 0, .end_ns = step_ns});
  return run;
}

TEST(KeptTraces, AreOfTheRanksThatAreAskedFor) {
  const report::CellResult cell;
  const report::BlockRun run = run_of(4, 100);
  EXPECT_THAT(kept_ranks({.which = Which::all}, run, cell), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept_ranks({.which = Which::none}, run, cell), IsEmpty());
  EXPECT_THAT(kept_ranks({.which = Which::sample, .num_ranks = 1}, run, cell), ElementsAre(0));
  EXPECT_THAT(kept_ranks({.which = Which::sample, .num_ranks = 2}, run, cell), ElementsAre(0, 2));
  EXPECT_THAT(kept_ranks({.which = Which::sample, .num_ranks = 3}, run, cell), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept_ranks({.which = Which::sample, .num_ranks = 9}, run, cell), ElementsAre(0, 1, 2, 3));
}

TEST(KeptTraces, OfTheWorstBlockGiveWayToAWorseOne) {
  report::CellResult cell;
  const plan::KeptTraces worst{.which = Which::worst};
  EXPECT_THAT(kept_ranks(worst, run_of(2, 100), cell), ElementsAre(0, 1)) << "the first is the worst so far";
  cell.samples.push_back({.step_ns = 100, .loss = {}, .transfer_cpu_ns = {}, .ranks = {}});
  EXPECT_THAT(kept_ranks(worst, run_of(2, 100), cell), IsEmpty());
  EXPECT_THAT(kept_ranks(worst, run_of(2, 101), cell), ElementsAre(0, 1));
}

/// A folder of a run of one cell, of which one block's trace is kept.
struct WorstOfOneCell {
  WorstOfOneCell() {
    std::filesystem::create_directories(folder / "traces");
    std::filesystem::create_directories(folder / "kernels");
    cells.emplace_back().plan.config.run.kept_traces.which = Which::worst;
    results.cells.emplace_back().trace_file = "traces/00-c.pftrace";
  }

  void keep(CellTraces& traces, std::int32_t block) {
    Trace trace;
    trace.marks = {{0, block, block, 100 * block}, {0, block, block + 1, 100 * block + 50}};
    traces.keep(0, block, trace, results.cells[0]);
    results.cells[0].samples.push_back({.block = block, .loss = {}, .transfer_cpu_ns = {}, .ranks = {}});
  }
  std::int32_t kept_block() const {
    return formats::read_trace(folder / results.cells[0].trace_file).marks.at(0).block;
  }
  std::ptrdiff_t num_files() const {
    return std::distance(std::filesystem::directory_iterator(folder / "traces"), std::filesystem::directory_iterator());
  }

  testing_support::TemporaryFolder folder_;
  std::filesystem::path folder = folder_ / "run";
  std::vector<plan::Cell> cells;
  report::RunResults results;
};

TEST(KeptTraces, ABlockTakesTheFileWhenResultsHaveIt) {
  WorstOfOneCell run;
  CellTraces traces(run.folder, run.cells);
  run.keep(traces, 0);
  traces.commit(run.results.cells);
  EXPECT_EQ(run.kept_block(), 0);
  run.keep(traces, 3);
  EXPECT_EQ(run.kept_block(), 0);
  traces.commit(run.results.cells);
  EXPECT_EQ(run.kept_block(), 3);
  EXPECT_EQ(run.num_files(), 1);
  EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(run.folder / "traces/00-c.pftrace")),
            run.results.cells[0].trace_bytes);
}

TEST(KeptTraces, OfABlockThatFailedAreGone) {
  WorstOfOneCell run;
  CellTraces traces(run.folder, run.cells);
  run.keep(traces, 0);
  traces.commit(run.results.cells);
  run.keep(traces, 1);
  EXPECT_EQ(run.num_files(), 2);
  traces.close();
  traces.commit(run.results.cells);
  EXPECT_EQ(run.num_files(), 1);
  EXPECT_EQ(run.kept_block(), 0);
}

TEST(KeptTraces, OfARunThatWasKilledBetweenResultsAndFileAreSettled) {
  WorstOfOneCell run;
  CellTraces traces(run.folder, run.cells);
  run.keep(traces, 0);
  traces.commit(run.results.cells);
  const report::RunResults before = run.results;
  run.keep(traces, 1);
  settle_traces(run.folder, run.results);
  EXPECT_EQ(run.kept_block(), 1) << "results have block 1";
  run.keep(traces, 2);
  settle_traces(run.folder, before);
  EXPECT_EQ(run.kept_block(), 1) << "results do not have block 2";
  EXPECT_EQ(run.num_files(), 1);
}

report::KernelTimes times_of_block(std::int32_t block) {
  report::KernelTimes times;
  times.compute.emplace(analysis::StepId(block, block), analysis::ComputeTimes({}, 2, 10));
  times.places[{0, kNoName, 0, 0}] = {1.0 * block, 3.0 * block, 2.0 * block};
  times.alone = {.count = 1, .bytes_on_wire = 8, .ns = 4};
  return times;
}

TEST(KernelFiles, SumBlocksWithoutTheStepsThatAreLeftOut) {
  const WorstOfOneCell run;
  KernelFiles files(run.folder, {"kernels/a", ""});
  files.open(0, 0, 0);
  for (std::int32_t block = 0; block < 4; ++block)
    files.append(0, {block, 100 - block, 10 * block}, times_of_block(block));
  EXPECT_EQ(files.last_ns(0), 100) << "the latest";
  EXPECT_EQ(files.times_of(0).compute.windows(), 8);
  EXPECT_EQ(files.times_of(0, {{1, 1}, {9, 9}}).compute.windows(), 6);
  EXPECT_THAT(files.times_of(0).places.begin()->second, ElementsAre(0, 2, 4, 6)) << "a median of each block";
  EXPECT_EQ(files.times_of(0).alone, (analysis::TransfersAlone{.count = 4, .bytes_on_wire = 32, .ns = 16}));
  EXPECT_FALSE(files.records(1));
  EXPECT_EQ(files.times_of(1).compute.windows(), 0);
}

TEST(KernelFiles, AreCutBehindTheFinishedBlocks) {
  const WorstOfOneCell run;
  {
    KernelFiles files(run.folder, {"kernels/a"});
    files.open(0, 0, 0);
    for (std::int32_t block = 0; block < 3; ++block) files.append(0, {block, 7, 10 * block}, times_of_block(block));
  }
  std::filesystem::resize_file(run.folder / "kernels/a", std::filesystem::file_size(run.folder / "kernels/a") - 1);
  KernelFiles files(run.folder, {"kernels/a"});
  EXPECT_THROW(files.open(0, 3, 20), std::invalid_argument) << "the last one is not whole";
  EXPECT_THROW(files.open(0, 2, 11), std::invalid_argument) << "its trace had 10 bytes";
  files.open(0, 2, 10);
  files.append(0, {2, 9, 20}, times_of_block(2));
  EXPECT_EQ(files.times_of(0).compute.windows(), 6);
  EXPECT_EQ(files.last_ns(0), 9);
  files.open(0, 0, 0);
  EXPECT_EQ(files.times_of(0).compute.windows(), 0);
}

}  // namespace
}  // namespace underlap::bench
