// SPDX-License-Identifier: Apache-2.0
// Every size and choice that a first configuration may hold runs, and its cells agree.
#include <ostream>
#include <thread>

#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/report/stalls.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const std::string kCells = "matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n";
const std::string kDdpCells = "matrix: {ddp.overlap_grad_reduce: [false, true]}\n";

struct Workload {
  std::string more;
  std::string model;
};

void PrintTo(const Workload& workload, std::ostream* out) {
  *out << ::testing::PrintToString(workload.more + workload.model);
}

class Workloads : public ::testing::TestWithParam<Workload> {};

TEST_P(Workloads, RunAndOverlapMovesNoBit) {
  const RunFolder folder(tiny_config(GetParam().more, GetParam().model));
  const report::RunResults results = folder.measured();
  ASSERT_EQ(results.cells.size(), 2U);
  EXPECT_EQ(results.cells[1].label, report::NumericsLabel::bit_identical);
  for (const report::CellResult& cell : results.cells) EXPECT_EQ(cell.samples.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(
    Run, Workloads,
    ::testing::Values(Workload{kCells, ""}, Workload{"data_parallel_size: 3\n" + kCells, ""},
                      Workload{"data_parallel_size: 4\n" + kCells, ""},
                      Workload{"data_parallel_size: 2\n" + kCells, ", share_embeddings_and_output_weights: true"},
                      Workload{"data_parallel_size: 2\noptimizer: {clip_grad: 1.0}\n" + kCells, ""},
                      Workload{"data_parallel_size: 2\nddp: {use_distributed_optimizer: false}\n" + kDdpCells, ""}));

// Every update multiplies the weights by -9: they overflow some blocks into the run.
TEST(Run, InfiniteGradientsFailTheRunAndKeepTheFinishedBlocks) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\noptimizer: {lr: 10, weight_decay: 1}\n"));
  const Outcome outcome = underlap_program(folder.arguments({"--steps", "1", "--blocks", "50"}));
  EXPECT_THAT(outcome, fails_with(3, "a gradient was infinite or NaN before step"));
  EXPECT_THAT(outcome.err, ContainsRegex("rank [01]:"));
  const report::RunResults results = folder.results();
  EXPECT_GE(results.blocks_done, 1);
  EXPECT_LT(results.blocks_done, 50);
  expect_success({"analyze", folder.traces().front()});
}

// An axis named overlap that moves more than overlap: what a schedule that loses a gradient looks like.
// No overlap moves a loss, so a finished block is told that one did.
TEST(Run, LossesThatOverlapMovedAreFound) {
  const RunFolder folder(tiny_config(kOffAndOn));
  report::RunResults results = folder.measured();
  results.cells[1].samples[0].loss = *results.cells[1].samples[0].loss * 1.001;
  write_results(folder.run(), results);
  EXPECT_THAT(underlap_program(folder.arguments({"--resume"})),
              fails_with(1, "loss differs from that of overlap_grad_reduce=false by "));
  folder.measure({"--resume", "--no-verify"});
}

class SmallMachine : public testing::TestWithParam<const char*> {};

// Each of the two cells needs 330 MB. The libraries and thread stacks take most of the rest.
TEST_P(SmallMachine, BuildsCellsThatDoNotFitTogetherOneAfterTheOther) {
  if (std::thread::hardware_concurrency() > 8) GTEST_SKIP() << "the stacks of as many threads take the memory";
  const RunFolder folder(
      "model: {num_layers: 1, hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 2, num_query_groups: 2, "
      "vocab_size: 100000, seq_length: 16}\nrun: {steps: 1, blocks: 2, warmup: 1}\ndata_parallel_size: 2\n"
      "matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");
  const Outcome outcome = expect_success(folder.arguments({"--rank-processes", GetParam()}),
                                         {.memory_bytes = 900'000'000, .environment = {{"MALLOC_ARENA_MAX", "1"}}});
  EXPECT_THAT(outcome.err, HasSubstr("do not fit in memory together: each block builds 2 parts"));
  const report::RunResults results = folder.results();
  EXPECT_THAT(results.resumed_at_blocks, ElementsAre(1));
  ASSERT_EQ(results.cells.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(results.cells[0].samples.at(i).step, results.cells[1].samples.at(i).step);
    EXPECT_EQ(results.cells[0].samples.at(i).loss, results.cells[1].samples.at(i).loss);
  }
  EXPECT_EQ(results.cells[1].label, report::NumericsLabel::bit_identical);
}

INSTANTIATE_TEST_SUITE_P(Ranks, SmallMachine, testing::Values("false", "true"), [](const auto& processes) {
  return std::string(processes.param) == "true" ? "processes" : "threads";
});

TEST(Run, ModelsOfTwoSizesAreNotHeldAgainstEachOther) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\nmatrix: {model.ffn_hidden_size: [32, 64]}\n"));
  folder.measure();
}

TEST(Run, NamesATraceAsItsCell) {
  const RunFolder folder(
      tiny_config("data_parallel_size: 2\nmatrix:\n  overlap: [{name: off, comm_overlap.overlap_grad_reduce: false}, "
                  "{name: on, comm_overlap.overlap_grad_reduce: true}]\n  train.micro_batch_size: [1]\n"));
  const report::RunResults results = folder.measured({"--blocks", "1"});
  ASSERT_EQ(results.cells.size(), 2U);
  EXPECT_THAT(results.cells[1].name, HasSubstr(" "));
  EXPECT_EQ(results.cells[1].trace_file, "traces/01-" + results.cells[1].name + ".pftrace");
  EXPECT_EQ(folder.traces()[1], folder.run() + "/" + results.cells[1].trace_file);
}

// No step of a test is to take seconds, so a finished block is told that one of its steps did.
TEST(Run, LeavesAStepThatStoodStillOutOfTheSumsOfKernels) {
  const RunFolder folder(tiny_config(kOffAndOn));
  report::RunResults results = folder.measured({"--blocks", "2"});
  results.cells[1].samples[0].step_ns = 3'600'000'000'000;
  write_results(folder.run(), results);
  const Outcome outcome = folder.measure({"--blocks", "3", "--resume"});
  EXPECT_THAT(outcome.out, HasSubstr("took 3600000 ms (typically"));
  results = folder.results();
  for (std::size_t i = 0; i < 2; ++i) {
    const report::CellResult& cell = results.cells[i];
    const std::size_t left = cell.samples.size() - report::stalled_steps(cell).size();
    EXPECT_EQ(cell.kernel_windows, static_cast<std::int64_t>(2 * left));
  }
  const report::Steps stalled = report::stalled_steps(results.cells[0], results.cells[1]);
  EXPECT_TRUE(stalled.contains({0, results.cells[1].samples[0].step}));
  ASSERT_TRUE(results.cells[1].compute_since_off);
  EXPECT_EQ(results.cells[1].compute_since_off->windows,
            static_cast<std::int64_t>(2 * (results.cells[1].samples.size() - stalled.size())));
}

std::int64_t num_windows(const std::string& trace) {
  return static_cast<std::int64_t>(analysis::find_windows(formats::read_trace(trace)).windows.size());
}

// Virtual time is the same every time, and so must be what is concluded from it.
TEST(Run, ConcludesTheSameWhicheverTracesAreKept) {
  std::optional<report::RunResults> all;
  for (const char* traces : {"all", "none", "worst", "sample:1"}) {
    const RunFolder folder(tiny_config(kOffAndOn));
    const auto run = [&](const char* blocks) {
      const Outcome outcome =
          folder.measure({"--backend", "sim", "--fold", "false", "--blocks", blocks, "--resume", "--traces", traces});
      return outcome;
    };
    run("2");
    const Outcome outcome = run("3");
    const report::RunResults results = folder.results();
    if (!all) all = results;
    const report::CellResult& cell = results.cells[1];
    EXPECT_EQ(cell.samples.size(), all->cells[1].samples.size());
    EXPECT_EQ(cell.samples.back().ranks, all->cells[1].samples.back().ranks);
    EXPECT_EQ(cell.kernel_ns, all->cells[1].kernel_ns);
    EXPECT_EQ(cell.kernel_windows, 2 * static_cast<std::int64_t>(cell.samples.size()));
    EXPECT_EQ(cell.compute_since_off->change, all->cells[1].compute_since_off->change);
    const std::map<std::string, std::int64_t> windows{{"all", 12}, {"worst", 4}, {"sample:1", 6}};
    EXPECT_EQ(cell.trace_file.empty(), std::string(traces) == "none");
    if (!cell.trace_file.empty()) {
      EXPECT_EQ(num_windows(folder.run() + "/" + cell.trace_file), windows.at(traces));
    }
    EXPECT_THAT(outcome.out, HasSubstr(cell.trace_file.empty() ? "no traces" : "traces:  "));
  }
}

}  // namespace
}  // namespace underlap::bench
