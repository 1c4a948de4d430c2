// SPDX-License-Identifier: Apache-2.0
#include "profiler/input/trace_input.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/input/trace_files.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/kineto_text.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::input {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

constexpr int kKernels = 9000;

// Of one rank, which it does not say: several MiB, and so several pieces.
std::string kineto_text() {
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  for (int i = 0; i < kKernels; ++i)
    text += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": {}, \"dur\": 9, "
        "\"args\": {{\"device\": 0, \"stream\": 7, \"correlation\": {}, \"note\": \"{:0>200}\"}}}}",
        i == 0 ? "" : ",\n", i % 3 == 0 ? "cpu_op" : "kernel", 1000 + 20 * i, i + 1, i);
  return text + "]}";
}

attribution::AttributionOptions usual(const Trace&) { return {}; }

class ReadCell : public ::testing::Test {
 protected:
  ReadCell() {
    for (const auto& file : files_) write_text(file, kineto_text());
  }

  TemporaryFolder folder_;
  std::vector<std::string> files_{folder_ / "rank0.json", folder_ / "rank1.json"};
  Watch watch_;
};

TEST_F(ReadCell, SaysWhichFileOfAllItReadsAndThatNothingIsDoneAtTheEnd) {
  read_cell(files_, usual, watch_);
  EXPECT_THAT(watch_.said, ElementsAre("reading " + files_[0] + " (1 of 2)", "reading " + files_[1] + " (2 of 2)",
                                       fmt::format("splitting {} slices", 2 * kKernels), ""));
}

TEST_F(ReadCell, TellsProgressOverAllFiles) {
  read_cell(files_, usual, watch_);
  EXPECT_TRUE(std::ranges::is_sorted(watch_.fractions));
  EXPECT_EQ(watch_.fractions.back(), 1);
  const auto within = [&](double from, double until) {
    return std::ranges::count_if(watch_.fractions, [&](double at) { return from < at && at < until; });
  };
  EXPECT_GE(within(0, 0.5), 2);
  EXPECT_GE(within(0.5, 1), 2);
}

TEST_F(ReadCell, GivesPartsOfTheFirstFileAsItGrowsAndThenOfAll) {
  std::size_t ranks = 0;
  watch_.look = [&](const Trace& part) { ranks = analysis::ranks_of(part).size(); };
  const CellTrace cell = read_cell(files_, usual, watch_);
  EXPECT_GE(std::ranges::count_if(watch_.sizes, [](std::size_t size) { return size < kKernels; }), 2);
  EXPECT_TRUE(std::ranges::is_sorted(watch_.sizes));
  EXPECT_EQ(watch_.sizes.back(), cell.trace.size());
  EXPECT_EQ(ranks, 2U);
}

TEST_F(ReadCell, GivesTheWholeHoweverShortAgoAPartWasGiven) {
  watch_.pause = std::chrono::hours(1);
  read_cell(files_, usual, watch_);
  ASSERT_EQ(watch_.sizes.size(), 2U);
  EXPECT_LT(watch_.sizes.front(), 1U * kKernels);
  EXPECT_EQ(watch_.sizes.back(), 2U * kKernels);
}

TEST_F(ReadCell, GivesAtTheEndOfEachFileWhatIsKept) {
  const CellTrace cell = read_cell(files_, usual, watch_, {.keep = Keep::what_is_split});
  EXPECT_LT(cell.trace.size(), 2U * kKernels);
  EXPECT_THAT(watch_.sizes, Contains(cell.trace.size() / 2));
  EXPECT_EQ(watch_.sizes.back(), cell.trace.size());
}

TEST_F(ReadCell, EndsAtAnyPollThatCancelsIt) {
  for (const Keep keep : {Keep::everything, Keep::what_is_split}) {
    Watch whole;
    read_cell(files_, usual, whole, {.keep = keep});
    for (std::size_t at = 1; at <= whole.polls; at += 1 + whole.polls / 8) {
      Watch watch(at);
      EXPECT_THROW(read_cell(files_, usual, watch, {.keep = keep}), Cancelled);
      EXPECT_EQ(watch.polls, at);
    }
  }
}

TEST_F(ReadCell, NeedsNobodyWhoWatches) {
  ReadingWatch deaf;
  EXPECT_EQ(read_cell(files_, usual, deaf).trace.size(), 2U * kKernels);
}

TEST_F(ReadCell, TellsProgressOverTheCellsOfARun) {
  for (const char* cell : {"a", "b"}) {
    Trace trace = formats::read_trace(files_[0]);
    trace.metadata["cell"] = cell;
    formats::write_trace(folder_ / (std::string(cell) + ".pftrace"), trace);
  }
  std::vector<std::string> cells;
  std::vector<double> after;
  for_each_cell(folder_ / "", std::nullopt, usual, watch_, [&](const CellTrace& cell) {
    cells.push_back(cell.cell);
    after.push_back(watch_.fractions.back());
  });
  EXPECT_THAT(cells, ElementsAre("a", "b"));
  EXPECT_NEAR(after.front(), 0.5, 0.01);
  EXPECT_TRUE(std::ranges::is_sorted(watch_.fractions));
  EXPECT_EQ(watch_.fractions.back(), 1);
}

std::string refusal(const std::string& argument) {
  Watch watch;
  return error_of([&] { read_cell(trace_files({argument}), usual, watch); });
}

TEST(WithoutGpuWork, NamesHowToRecordItAndWhatTheHostLaunched) {
  const TemporaryFolder folder;
  write_text(folder / "t.json", kineto_file({kOperation, R"({"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1,
      "name": "nccl:all_reduce", "ts": 1, "dur": 2})"}));
  EXPECT_THAT(refusal(folder / "t.json"), AllOf(HasSubstr("no GPU work was recorded"),
                                                HasSubstr("activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"),
                                                HasSubstr("the host launched all_reduce (1)")));
  {
    NsysFile file(folder / "t.sqlite");
    file.range({.start = 1, .end = 2, .text = "step"});
  }
  EXPECT_THAT(refusal(folder / "t.sqlite"), HasSubstr("no GPU work was recorded: record with `nsys profile "
                                                      "--trace=cuda,nvtx`"));
}

TEST(WithoutGpuWork, IsRefusedInCases) {
  const char* cases = std::getenv("UNDERLAP_CASES");
  if (cases == nullptr) GTEST_SKIP() << "UNDERLAP_CASES is not set";
  const std::string folder = cases;
  EXPECT_THAT(refusal(folder + "/hta_247_cpu_only/t.json"),
              AllOf(HasSubstr("ProfilerActivity.CUDA"), HasSubstr("all_reduce")));
  EXPECT_THAT(refusal(folder + "/nsys_nvtx_only/t.sqlite"), HasSubstr("--trace=cuda,nvtx"));
}

// Whether kernels communicate is unknown without their names.
TEST(WithoutNames, KernelsOfAnExportAreUnclassified) {
  const TemporaryFolder folder;
  {
    NsysFile file(folder / "t.sqlite");
    file.kernel({.start = 1000, .end = 2000, .correlation = 1});
    file.run("DELETE FROM StringIds");
  }
  Watch watch;
  const CellTrace cell = read_cell({folder / "t.sqlite"}, usual, watch);
  EXPECT_THAT(analysis::headline(cell.trace, cell.summary),
              AllOf(Contains(HasSubstr("counts as compute, but may be communication; unnamed kernels: the trace has "
                                       "no name for it")),
                    Contains("No other communication was found.")));
}

// As torchtitan writes them: profiling/traces/iteration_10/rank0_trace.json.
class Iterations : public ::testing::Test {
 protected:
  void write(const std::string& iteration) {
    const std::filesystem::path where = std::filesystem::path(folder_ / "profiling") / "traces" / iteration;
    std::filesystem::create_directories(where);
    for (const char* rank : {"rank0", "rank3"})
      write_text(where / (std::string(rank) + "_trace.json"), kineto_file({kKernel, kLaunch}));
  }

  TemporaryFolder folder_;
};

TEST_F(Iterations, AreJobsOfTheirOwn) {
  for (const char* iteration : {"iteration_20", "iteration_100"}) write(iteration);
  for (const std::filesystem::path& folder : {folder_ / "profiling", folder_ / "profiling/traces"}) {
    EXPECT_FALSE(is_run_folder(folder));
    EXPECT_THAT(refusal(folder), AllOf(HasSubstr("the traces of 2 iterations"),
                                       ContainsRegex("give one of: .*iteration_20, .*iteration_100$")));
  }
}

TEST_F(Iterations, HaveRanksFromTheNamesOfFiles) {
  write("iteration_10");
  Watch watch;
  const CellTrace cell = read_cell(trace_files({folder_ / "profiling"}), usual, watch);
  EXPECT_THAT(analysis::ranks_of(cell.trace), ElementsAre(0, 3));
}

TEST(TraceFiles, FolderWithoutTracesNamesAnUnreadableFile) {
  const TemporaryFolder folder;
  write_text(folder / "a.nsys-rep", "NVIDIA Tegra Profiler Report 1.\n");
  EXPECT_THAT(refusal(folder / ""), HasSubstr("a.nsys-rep is an Nsight Systems report; export it"));
}

}  // namespace
}  // namespace underlap::input
