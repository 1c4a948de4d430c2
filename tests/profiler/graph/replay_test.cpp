// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/replay.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "profiler/attribution/attribution.hpp"
#include "profiler/graph/build.hpp"
#include "profiler/graph/gaps.hpp"
#include "profiler/graph/what_if.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::graph {
namespace {

namespace fs = std::filesystem;

struct Checked {
  input::CellTrace traced;
  Graph graph;
  Gaps gaps;
  StepTimes steps;
  ReplayCheck check;

  explicit Checked(input::CellTrace cell)
      : traced(std::move(cell)),
        graph(build_graph(traced.trace, *traced.summary.communications)),
        gaps(measure_gaps(graph)),
        steps(graph, *traced.summary.communications, steps_of(traced)),
        check(check_replay(graph, gaps, steps)) {}

  static std::vector<analysis::Window> steps_of(const input::CellTrace& traced) {
    std::vector<analysis::Window> steps;
    for (const analysis::Window& window : traced.summary.shown_windows())
      if (window.step >= 0) steps.push_back(window);
    return steps;
  }
  double error_without(EdgeKind kind) const {
    const EdgeFilter filter{.without = kind};
    const auto replayed = steps.of(replay(graph, gaps.mean_ns, filter)).typical_ns();
    return static_cast<double>(replayed - check.measured_ns) / static_cast<double>(check.measured_ns);
  }
};

Checked check_of(const std::vector<std::string>& files) {
  ReadingWatch watch;
  return Checked(input::read_cell(
      input::trace_files(files), [](const Trace&) { return attribution::AttributionOptions{}; }, watch));
}

// A step with an edge of every kind: rank 1 sends to rank 0 and reduces with it.
JobTrace every_edge() {
  JobTrace job(2);
  const std::uint32_t group = job.group({0, 1});
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t t = 2'000'000 * step;
    const auto sequence = static_cast<std::uint64_t>(step) + 3;
    for (const std::int32_t rank : {0, 1}) {
      const std::int64_t late = 50'000 * rank;
      job.call(rank, t, t + 5'000, job.kernel(rank, t + 10'000, t + 100'000 + late));
      job.call(rank, t + 6'000, t + 7'000, job.kernel(rank, t + 101'000 + late, t + 200'000 + late));
      job.host(rank, t + 8'000, t + 9'000, "cudaStreamWaitEvent");
      job.call(rank, t + 11'000, t + 12'000,
               job.nccl(rank, t + 201'000 + late, t + 300'000,
                        {.group = group, .sequence = sequence, .transfers = {{.collective = Collective::all_reduce}}}));
      job.call(
          rank, t + 13'000, t + 14'000,
          job.nccl(
              rank, t + 301'000 + late, t + 400'000,
              {.group = group,
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
    job.trace.add({.track = JobTrace::track(0, 0),
                   .start_ns = begin + 100,
                   .duration_ns = 900,
                   .name = intern("gemm"),
                   .tag = {.step = step}});
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
    const Checked checked = check_of({(fs::path(folder) / name).string()});
    errors.push_back(std::abs(checked.check.error()));
    EXPECT_LT(errors.back(), 0.03) << name;
    EXPECT_EQ(checked.check.dropped_edges, 0) << name;
  }
  std::ranges::sort(errors);
  EXPECT_LT(errors[errors.size() / 2], 0.01);
}

// For a table by hand: UNDERLAP_REPLAYED="a.json b.json" prints the replay errors of such traces.
TEST(Replay, PrintsErrorsOfNamedTraces) {
  const char* named = std::getenv("UNDERLAP_REPLAYED");
  if (named == nullptr) GTEST_SKIP() << "UNDERLAP_REPLAYED is not set";
  std::vector<std::string> files;
  std::string word;
  for (const char c : std::string(named) + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      files.push_back(word);
      word.clear();
    }
  }
  const Checked checked = check_of(files);
  const ReplayCheck& check = checked.check;
  fmt::print("{} steps, {} nodes, {} edges, {} dropped\n", checked.steps.measured().step_ns.size(),
             checked.graph.nodes().size(), checked.graph.edges().size(), check.dropped_edges);
  fmt::print("measured {:.3f} ms, mean gaps {:+.2f} %, unexplained {:.2f} %\n",
             static_cast<double>(check.measured_ns) / 1e6, 100 * check.error(), 100 * check.unexplained());
  for (std::size_t i = 0; i < kNumEdgeKinds; ++i)
    if (check.edges[i] > 0)
      fmt::print("  {:<11} {:>8} edges, {:>7} guessed; without them {:+.2f} %\n", to_string(static_cast<EdgeKind>(i)),
                 check.edges[i], check.guessed[i], 100 * checked.error_without(static_cast<EdgeKind>(i)));
}

}  // namespace
}  // namespace underlap::graph
