// SPDX-License-Identifier: Apache-2.0
// Which files are ranks of one job, and which of their communications belong together.
#include <gmock/gmock.h>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/late_rank.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/input/rank_file.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::input::jobs_of_ranks {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

/// A rank of a job, as its file describes it.
struct Rank {
  int rank = 0;
  int world_size = 2;
  std::string device = "NVIDIA H100";
  int first_step = 0;       ///< recorded
  double late_us = 0;       ///< after the other ranks at each collective
  double clock_us = 0;      ///< its clock is ahead by
  bool has_numbers = true;  ///< collectives have sequence numbers
  std::string group = "0";  ///< name
};

// Up to step 5: compute for 400 us and an all-reduce that all ranks end together, 900 us after the step's start and a
// little later in each step.
std::string text_of(const Rank& about) {
  RankFile file(fmt::format(
      R"("deviceProperties": [{{"id": 0, "name": "{}"}}], "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}})",
      about.device, about.rank, about.world_size));
  for (int step = about.first_step; step < 6; ++step) {
    const double at = 1000.0 * step + about.clock_us + 7 * step * step;
    const std::string number = about.has_numbers ? fmt::format(R"(, "Seq": {})", 40 + step) : "";
    const std::string collective = fmt::format(
        R"(, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": {},
           "dtype": "Float", "Process Group Name": "{}", "Process Group Description": "DATA_PARALLEL_GROUP",
           "Process Group Ranks": "{}"{})",
        about.world_size, about.group, about.world_size == 2 ? "[0, 1]" : "[0, 1, 2, ..., 511]", number);
    file.step(step, at, 1000).launched("gemm", 7, at + 100, 400 + about.late_us, 10 * step + 1);
    file.launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 20, at + 500 + about.late_us, 400 - about.late_us,
                  10 * step + 2, collective);
  }
  return file.text();
}

CellTrace read(const std::vector<Rank>& ranks, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const Rank& rank : ranks) {
    files.push_back(folder / fmt::format("rank{}.json", rank.rank));
    write_text(files.back(), text_of(rank));
  }
  Watch watch;
  return read_cell(
      files, [](const Trace&) { return attribution::AttributionOptions{}; }, watch, options);
}

std::vector<std::string> reasons_of(const CellTrace& cell) {
  std::vector<std::string> texts;
  for (const analysis::ExposureReasonSum& sum : cell.summary.reasons.sums)
    texts.push_back(fmt::format("{} {} {}", sum.count, sum.exposed_ns, analysis::clause_of(sum)));
  return texts;
}

TEST(Job, HasTheSameReasonsIfItIsKeptInParts) {
  const std::vector<Rank> ranks{{}, {.rank = 1, .late_us = 300}};
  const std::vector<std::string> whole = reasons_of(read(ranks, {.reasons = true}));
  EXPECT_THAT(whole, Contains(HasSubstr("it waits for a late rank")));
  EXPECT_THAT(whole, Contains(Not(HasSubstr("late rank"))));
  EXPECT_EQ(reasons_of(read(ranks, {.keep = Keep::what_is_split, .reasons = true})), whole);
  EXPECT_THAT(reasons_of(read(ranks)), IsEmpty());
}

TEST(Job, HasChosenStepsIfAnyRankHasThem) {
  const std::vector<Rank> ranks{{}, {.rank = 1, .first_step = 3}};
  for (const Keep keep : {Keep::everything, Keep::what_is_split}) {
    const CellTrace cell = read(ranks, {.keep = keep, .steps = analysis::step_choice_from("1:2")});
    EXPECT_EQ(cell.summary.shown_windows().size(), 2U);
    EXPECT_THAT(error_of([&] { read(ranks, {.keep = keep, .steps = analysis::step_choice_from("8:9")}); }),
                HasSubstr("no step is in 8:9"));
  }
}

TEST(Job, CapturesThatStartApartAreMatchedFromTheirFirstCommonCollective) {
  for (const bool has_numbers : {true, false}) {
    const CellTrace cell =
        read({{.has_numbers = has_numbers}, {.rank = 1, .first_step = 1, .clock_us = 7e6, .has_numbers = has_numbers}});
    const analysis::Matching& matching = cell.summary.communications->matching;
    EXPECT_EQ(matching.matched_slices, 10) << has_numbers;
    EXPECT_EQ(matching.slices, 11);
    EXPECT_EQ(cell.summary.communications->offset_ns(1), 7'000'000'000) << has_numbers;
  }
}

// A rank that makes the others wait for less than a tenth of their exposed time explains nothing of it.
TEST(Job, LateRankIsNamedFromATenthOfTheExposedTime) {
  for (const auto& [late_us, is_named] : {std::pair{20.0, false}, std::pair{150.0, true}}) {
    const CellTrace cell = read({{}, {.rank = 1, .late_us = late_us}});
    ASSERT_TRUE(cell.summary.waits && cell.summary.waits->late_rank());
    EXPECT_EQ(analysis::notable_late_rank(cell.summary).has_value(), is_named) << late_us;
    EXPECT_THAT(analysis::headline(cell.trace, cell.summary),
                Contains(HasSubstr("wait time is for rank 1")).Times(is_named ? 1 : 0));
  }
}

TEST(Job, TwoOfManyRanksAreComparedWithEachOther) {
  const CellTrace cell = read({{.world_size = 512}, {.rank = 1, .world_size = 512, .late_us = 150}});
  EXPECT_EQ(cell.summary.communications->matching.partly_matched_slices, 12);
  ASSERT_TRUE(cell.summary.waits && cell.summary.waits->late_rank());
  EXPECT_EQ(cell.summary.waits->late_rank()->rank, 1);
  EXPECT_EQ(cell.summary.waits->total.wait_ns, 6 * 150'000);
  EXPECT_EQ(cell.summary.waits->total.transfer_ns, 0);  // other ranks may have been later
  EXPECT_THAT(
      analysis::headline(cell.trace, cell.summary),
      Contains(HasSubstr("510 of 512 ranks have no trace; among the others, 100 % of all wait time is for rank 1")));
}

TEST(Job, NamesTheRankThatIsMissing) {
  const CellTrace cell = read({{.rank = 0}});
  EXPECT_THAT(analysis::headline(cell.trace, cell.summary), Contains(HasSubstr("rank 1 of 2 has no trace")));
}

TEST(Job, MayUseDifferentGpusInOneGroup) {
  const CellTrace cell = read({{}, {.rank = 1, .device = "NVIDIA A100"}});
  EXPECT_EQ(cell.summary.shown().size(), 2U);
  EXPECT_THROW(read({{}, {.rank = 1, .device = "NVIDIA A100", .group = "7"}}), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::input::jobs_of_ranks
