// SPDX-License-Identifier: Apache-2.0
// What `underlap analyze` makes of the same training steps in the formats of several tools.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "profiler/analysis/windows.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/made_up_steps.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::input {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

CellTrace cell_of(const std::vector<std::string>& files) {
  ReadingWatch watch;
  return read_cell(
      files, [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
}

struct Case {
  const char* name;
  std::string (*text)();
  int ranks;
  const char* format;
  std::string all_reduce;  ///< the purpose of the communication
  std::int64_t bytes;      ///< on the wire, of a step
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class MadeUpSteps : public TestWithParam<Case> {};

// The first step is left out: what came before it was not recorded.
TEST_P(MadeUpSteps, HaveTheSameFiguresInEachFormat) {
  const TemporaryFolder folder;
  write_text(folder / "t.json", GetParam().text());
  const CellTrace cell = cell_of({folder / "t.json"});
  EXPECT_EQ(cell.trace.metadata.at("format"), GetParam().format);
  EXPECT_THAT(cell.trace.import.skipped, IsEmpty());
  ASSERT_THAT(cell.summary.steps_of_ranks, SizeIs(GetParam().ranks));
  for (int rank = 0; rank < GetParam().ranks; ++rank) {
    const analysis::RankSummary& found = cell.summary.steps_of_ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(found.rank, rank);
    ASSERT_THAT(found.splits, SizeIs(2));
    for (const int step : {1, 2}) {
      const analysis::Split& split = found.splits[static_cast<std::size_t>(step - 1)];
      EXPECT_EQ(found.windows[static_cast<std::size_t>(step - 1)].step, step);
      EXPECT_EQ(split.window_ns, 1'050'000);
      EXPECT_EQ(split.compute_ns(), 600'000);
      EXPECT_EQ(split.comm_ns(), 400'000 + 50'000 * step);
      EXPECT_EQ(split.hidden_ns, 200'000);
      EXPECT_EQ(split.exposed_ns(), 200'000 + 50'000 * step);
      EXPECT_EQ(split.copy_only_ns, 0);
      EXPECT_THAT(split.purposes, ElementsAre(Pair(GetParam().all_reduce, _)));
      EXPECT_EQ(split.purposes.begin()->second.bytes_on_wire, GetParam().bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MadeUpSteps,
                         Values(Case{"rocprofv3", [] { return rocprof_file({rocprof_process()}); }, 1, "rocprofv3",
                                     "unattributed", 0},
                                Case{"rocprofv3_with_two_processes",
                                     [] {
                                       return rocprof_file({rocprof_process(908, 0), rocprof_process(909, 1)});
                                     },
                                     2, "rocprofv3", "unattributed", 0},
                                Case{"jax", [] { return jax_file(); }, 2, "jax", "all_reduce", 0},
                                Case{"ascend", [] { return ascend_file(); }, 1, "ascend", "all_reduce", 0},
                                Case{"ascend_of_old", [] { return ascend_file("HCCL"); }, 1, "ascend", "all_reduce", 0},
                                Case{"ascend_with_late_names", [] { return ascend_file("Communication", false); }, 1,
                                     "ascend", "all_reduce", 0},
                                Case{"xpu", [] { return xpu_file(); }, 1, "kineto", "all_reduce", 8 << 20}),
                         [](const auto& one) { return one.param.name; });

// Their own analysis is in their files.
std::map<std::int64_t, std::int64_t> ranges_named(const Trace& trace, std::string_view name) {
  std::map<std::int64_t, std::int64_t> ends;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (name_of(trace.name(i)) == name && trace.track_of(i).kind == TrackKind::range)
      ends[trace.start_ns()[i]] = trace.end_ns(i);
  return ends;
}

TEST(AscendSteps, AgreeWithTheOverlapAnalysisOfTheFile) {
  const TemporaryFolder folder;
  write_text(folder / "trace_view.json", ascend_file());
  const CellTrace cell = cell_of({folder / "trace_view.json"});
  std::int64_t exposed_ns = 0;
  for (const auto& [start, end] : ranges_named(cell.trace, "Communication(Not Overlapped)")) exposed_ns += end - start;
  EXPECT_EQ(exposed_ns, 750'000);
  EXPECT_EQ(cell.summary.ranks.at(0).total.exposed_ns(), exposed_ns);
}

TEST(AscendSteps, UseRanksAndGroupsOfAdjacentFiles) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const int rank : {0, 1}) {
    const std::string name = fmt::format("n0_{}_ascend_pt", rank);
    std::filesystem::create_directories(folder / (name + "/ASCEND_PROFILER_OUTPUT"));
    files.push_back(folder / (name + "/ASCEND_PROFILER_OUTPUT/trace_view.json"));
    write_text(files.back(), ascend_file());
    write_text(folder / (name + fmt::format("/profiler_info_{}.json", rank)), "{}");
    write_text(folder / (name + "/profiler_metadata.json"),
               R"({"parallel_group_info": {"group_name_0": {"group_name": "tp", "global_ranks": [0, 1]}}})");
  }
  const CellTrace cell = cell_of(files);
  ASSERT_THAT(cell.trace.groups, SizeIs(1));
  EXPECT_EQ(name_of(cell.trace.groups[0].name), "group_name_0");
  EXPECT_EQ(name_of(cell.trace.groups[0].description), "tp");
  EXPECT_THAT(cell.trace.groups[0].ranks, ElementsAre(0, 1));
  ASSERT_THAT(cell.summary.steps_of_ranks, SizeIs(2));
  for (const analysis::RankSummary& rank : cell.summary.steps_of_ranks) {
    EXPECT_THAT(rank.total.modes, ElementsAre(Pair("tp", _)));
    EXPECT_EQ(rank.total.modes.at("tp").exposed_ns, 550'000);
    EXPECT_EQ(rank.total.modes.at("tp").bytes_on_wire, 2 * (8 << 20));
  }
  EXPECT_THAT(cell.summary.communications->matching.matches, SizeIs(3));
}

TEST(AscendCase, HasTheExposedTimeThatItsFileStates) {
  const char* folder = std::getenv("UNDERLAP_CASES");
  if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_CASES is not set";
  const CellTrace cell = cell_of({std::string(folder) + "/ascend_trace_view/trace_view.json"});
  EXPECT_EQ(cell.trace.metadata.at("format"), "ascend");
  const analysis::Split& total = cell.summary.ranks.at(0).total;
  EXPECT_EQ(total.compute_ns(), 2 * 600'000);
  EXPECT_EQ(total.comm_ns(), 2 * 400'000);
  EXPECT_EQ(total.exposed_ns(), 2 * 200'000);
}

}  // namespace
}  // namespace underlap::input
