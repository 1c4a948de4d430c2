// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/replay.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "profiler/attribution/attribution.hpp"
#include "profiler/graph/build.hpp"
#include "profiler/graph/gaps.hpp"
#include "profiler/graph/what_if.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::graph {
namespace {

ReplayCheck check_of(const std::string& file) {
  ReadingWatch watch;
  const input::CellTrace traced = input::read_cell(
      input::trace_files({file}), [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
  std::vector<analysis::Window> steps = traced.summary.shown_windows();
  std::erase_if(steps, [](const analysis::Window& window) { return window.step < 0; });
  const analysis::Communications& communications = *traced.summary.communications;
  const Graph graph = build_graph(traced.trace, communications);
  return check_replay(graph, measure_gaps(graph), StepTimes(graph, communications, steps));
}

// A step with an edge of every kind: rank 1 sends to rank 0 and reduces with it.
JobTrace every_edge() {
  JobTrace job(2);
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t t = 2'000'000 * step;
    const auto sequence = static_cast<std::uint64_t>(step) + 3;
    for (const std::int32_t rank : {0, 1}) {
      const std::int64_t late = 50'000 * rank;
      job.call(rank, t, t + 5'000, job.kernel(rank, t + 10'000, t + 100'000 + late));
      job.call(rank, t + 6'000, t + 7'000, job.kernel(rank, t + 101'000 + late, t + 200'000 + late));
      job.host(rank, t + 8'000, t + 9'000, "cudaStreamWaitEvent");
      job.call(
          rank, t + 11'000, t + 12'000,
          job.nccl(rank, t + 201'000 + late, t + 300'000,
                   {.group = job.all(), .sequence = sequence, .transfers = {{.collective = Collective::all_reduce}}}));
      job.call(
          rank, t + 13'000, t + 14'000,
          job.nccl(
              rank, t + 301'000 + late, t + 400'000,
              {.group = job.all(),
               .sequence = sequence,
               .transfers = {{.collective = rank == 0 ? Collective::receive : Collective::send, .peer = 1 - rank}}},
              Mode::pp));
      job.call(rank, t + 15'000, t + 16'000, job.kernel(rank, t + 401'000, t + 500'000));
      job.host(rank, t + 20'000, t + 510'000 + 1'000 * (step % 3), "cudaDeviceSynchronize");
      job.call(rank, t + 600'000, t + 605'000, job.kernel(rank, t + 610'000, t + 700'000));
    }
  }
  return job;
}

TEST(Replay, NeedsEveryKindOfEdge) {
  JobTrace job = every_edge();
  const analysis::Communications communications = analysis::match_and_align(job.trace);
  const Graph graph = build_graph(job.trace, communications);
  const Gaps gaps = measure_gaps(graph);
  const StepTimes steps(graph, communications, {});
  const ReplayCheck check = check_replay(graph, gaps, steps);
  const Times replayed = replay(graph, gaps.mean_ns);
  EXPECT_LT(std::abs(check.error()), 0.02);
  for (std::size_t i = 0; i < kNumEdgeKinds; ++i) {
    const auto kind = static_cast<EdgeKind>(i);
    EXPECT_GT(check.edges[i], 0) << to_string(kind);
    EXPECT_NE(replay(graph, gaps.mean_ns, {.without = kind}).start_ns, replayed.start_ns) << to_string(kind);
  }
}

// Two blocks of three steps; other cells run for a second between them.
TEST(Replay, LeavesOutTheTimeBetweenBlocks) {
  JobTrace job(1);
  std::vector<analysis::Window> steps;
  for (std::int32_t step = 0; step < 6; ++step) {
    const std::int64_t begin = 1000 * step + (step < 3 ? 0 : 1'000'000'000);
    job.trace.add(testing_support::slice_of(JobTrace::track(0, 0), begin + 100, 900, "gemm", {.step = step}));
    job.trace.marks.push_back({0, step / 3, step, begin + 1000});
    steps.push_back({0, step / 3, step, begin, begin + 1000});
  }
  const analysis::Communications communications = analysis::match_and_align(job.trace);
  const Graph graph = build_graph(job.trace, communications);
  EXPECT_EQ(check_replay(graph, measure_gaps(graph), StepTimes(graph, communications, steps)).error(), 0);
}

// Median step, or the span where there are no steps, of complete steps.
TEST(Replay, ExplainsPublicTraces) {
  const char* folder = std::getenv("UNDERLAP_REAL_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES is not set";
  std::vector<double> errors;
  for (const char* name : {"ddp_2gpu_a100", "dlrm_8gpu_v100", "nsys_2gpu_h100", "pair_a100_v100/control.json.gz",
                           "pair_a100_v100/test.json.gz"}) {
    const ReplayCheck check = check_of(std::string(folder) + "/" + name);
    errors.push_back(std::abs(check.error()));
    EXPECT_LT(errors.back(), 0.03) << name;
    EXPECT_EQ(check.dropped_edges, 0) << name;
  }
  std::ranges::sort(errors);
  EXPECT_LT(errors[errors.size() / 2], 0.01);
}

}  // namespace
}  // namespace underlap::graph
