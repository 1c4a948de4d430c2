// SPDX-License-Identifier: Apache-2.0
// A cell whose rank fails is tried again; one that fails again is left out, and the others go on.
#include <cstdlib>
#include <memory>
#include <sstream>

#include "bench/measure/measure.hpp"
#include "impl/plan/plan.hpp"
#include "platform/errors.hpp"
#include "profiler/report/report.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

/// Starts ranks of tests/bench/ranks/rank_program.cpp.
class TestStarter final : public RankStarter {
 public:
  explicit TestStarter(std::string deed) : deed_(std::move(deed)) {}

  std::vector<std::unique_ptr<RankLink>> start(std::int32_t num_ranks, const ChildOptions& child) override {
    ++num_starts;
    ChildOptions obedient = child;
    obedient.program = UNDERLAP_TEST_RANK_PROGRAM;
    obedient.environment.emplace_back("UNDERLAP_TEST_RANK", deed_);
    return ChildStarter().start(num_ranks, obedient);
  }

  int num_starts = 0;

 private:
  std::string deed_;
};

class FailingCell : public ::testing::Test {
 protected:
  MeasureOutcome measured(const std::string& deed, bool resume = false) {
    starter = std::make_unique<TestStarter>(deed);
    MeasureOptions options;
    options.folder = folder / "run";
    options.resume = resume;
    options.starter = starter.get();
    options.progress.stream = &said;
    return measure(matrix, options);
  }

  std::vector<std::size_t> samples(const report::RunResults& results) const {
    std::vector<std::size_t> counts;
    for (const report::CellResult& cell : results.cells) counts.push_back(cell.samples.size());
    return counts;
  }

  testing_support::TemporaryFolder folder;
  plan::Matrix matrix = plan::parse(
      "model: {preset: tiny}\ndata_parallel_size: 2\n"
      "run: {rank_processes: true, blocks: 4, steps: 2, warmup: 1, trace: false, peer_timeout_s: 20}\n"
      "matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n",
      "config.yaml");
  std::unique_ptr<TestStarter> starter;
  std::ostringstream said;
};

TEST_F(FailingCell, IsTriedAgainOnFreshRanksAndTheBlockWithIt) {
  const MeasureOutcome outcome = measured("1 exit 2 1 " + (folder / "once").string());
  EXPECT_EQ(starter->num_starts, 2);
  EXPECT_THAT(samples(outcome.results), ElementsAre(8, 8));
  EXPECT_THAT(outcome.invalid, IsEmpty());
  EXPECT_THAT(outcome.results.cells[0].notes, Each(Not(HasSubstr("fresh ranks"))));
  EXPECT_THAT(outcome.results.cells[1].notes,
              Contains(HasSubstr("block 2 was measured on fresh ranks after this error: rank 1 ended with exit "
                                 "status 7")));
  EXPECT_THAT(outcome.results.resumed_at_blocks, ElementsAre(2));
}

TEST_F(FailingCell, IsLeftOutWhereItFailsAgainAndTheOthersGoOn) {
  const MeasureOutcome outcome = measured("1 exit 2 1");
  EXPECT_EQ(starter->num_starts, 3);
  EXPECT_EQ(outcome.results.blocks_done, 4);
  EXPECT_THAT(samples(outcome.results), ElementsAre(8, 4));
  ASSERT_THAT(outcome.invalid, SizeIs(1));
  EXPECT_THAT(outcome.invalid.front(), HasSubstr("left out from block 2 on, where it failed 2 times: rank 1 ended"));
  // What it has of blocks is in the tables, and marked.
  EXPECT_THAT(report::run_text(report::read_results(folder / "run"), {.width = 100}, report::Details::left_out),
              HasSubstr("INVALID"));
}

TEST_F(FailingCell, ThatNeverRanLeavesTablesOfTheOthers) {
  const MeasureOutcome outcome = measured("0 segv 0 0");
  EXPECT_THAT(samples(outcome.results), ElementsAre(0, 8));
  const report::RunResults results = report::read_results(folder / "run");
  for (const auto details : {report::Details::included, report::Details::left_out})
    EXPECT_THAT(report::run_text(results, {.width = 100}, details), HasSubstr("INVALID"));
}

TEST_F(FailingCell, IsTakenUpAgainByResume) {
  measured("1 exit 2 1");
  const MeasureOutcome outcome = measured("-1 none", true);
  EXPECT_THAT(samples(outcome.results), ElementsAre(8, 8));
  EXPECT_THAT(outcome.invalid, IsEmpty());
  EXPECT_EQ(outcome.results.blocks_done, 4);
  EXPECT_EQ(outcome.results.cells[1].failed_because, "");
  EXPECT_THAT(outcome.results.cells[1].notes,
              Contains(HasSubstr("from block 2 on, measured later than the other cells")));
  EXPECT_THAT(measured("-1 none", true).invalid, IsEmpty());  // nothing is left to do
  EXPECT_EQ(starter->num_starts, 0);
}

TEST_F(FailingCell, ThatIsTheLastOneEndsTheRun) {
  matrix = plan::parse(
      "model: {preset: tiny}\ndata_parallel_size: 2\nrun: {rank_processes: true, blocks: 3, steps: 2, trace: false}\n",
      "config.yaml");
  EXPECT_THAT([&] { measured("1 exit 1 0"); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("block 1: rank 1 ended with exit status 7"),
                                                HasSubstr("no cell is left"), HasSubstr("1 of 3 blocks are kept"))));
}

TEST_F(FailingCell, WhoseInputIsBadIsNotTriedAgain) {
  EXPECT_THROW(measured("1 refuse 0 0"), std::invalid_argument);
  EXPECT_EQ(starter->num_starts, 1);
}

// What the ranks of a run say that they run on.
class GpuModel : public FailingCell {
 protected:
  ~GpuModel() override { ::unsetenv("UNDERLAP_TEST_GPU"); }
  MeasureOutcome measured_on(const char* gpu, bool resume = false) {
    ::setenv("UNDERLAP_TEST_GPU", gpu, 1);
    return measured("", resume);
  }
};

TEST_F(GpuModel, IsRecordedAndItsDescriptionSaysThePeakOfRates) {
  const report::RunResults results = measured_on("NVIDIA H100 80GB HBM3").results;
  EXPECT_EQ(results.info.gpu_model, "NVIDIA H100 80GB HBM3");
  for (const report::CellResult& cell : results.cells) {
    EXPECT_EQ(cell.work.peak_tflops, 989);
    EXPECT_EQ(cell.work.peak_of, "h100-sxm, bf16");
  }
  EXPECT_THAT(report::report_markdown(results), HasSubstr("| GPUs | NVIDIA H100 80GB HBM3 |"));
}

TEST_F(GpuModel, HasNoPeakWhereNoDescriptionIsOfIt) {
  const report::RunResults results = measured_on("NVIDIA H100 80GB HBM3 MIG 1g.10gb").results;
  EXPECT_EQ(results.cells[0].work.peak_tflops, 0);
  EXPECT_EQ(results.cells[0].work.peak_of, "peak FLOP/s of NVIDIA H100 80GB HBM3 MIG 1g.10gb is unknown");
}

TEST_F(GpuModel, OfARunThatIsGoneOnWithIsTheSame) {
  matrix.cells[0].plan.config.run.blocks = matrix.cells[1].plan.config.run.blocks = 2;
  measured_on("NVIDIA H100 80GB HBM3");
  matrix.cells[0].plan.config.run.blocks = matrix.cells[1].plan.config.run.blocks = 4;
  EXPECT_THAT([&] { measured_on("NVIDIA H200", true); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("contains steps measured on NVIDIA H100 80GB HBM3, but the ranks now run on NVIDIA H200")));
}

}  // namespace
}  // namespace underlap::bench
