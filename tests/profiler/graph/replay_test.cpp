// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/replay.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "profiler/attribution/attribution.hpp"
#include "profiler/graph/critical_path.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::graph {
namespace {

using namespace analysis;  // NOLINT

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

Durations replayed(JobTrace& job, std::span<const Window> steps = {}, const Change& change = {}) {
  const Communications communications = match_and_align(job.trace);
  const Graph graph = build_graph(job.trace, communications);
  return StepTimes(graph, communications, steps).of(replay(graph, measure_gaps(graph).measured_ns, {}, change));
}

std::vector<WhatIf> answers_of(JobTrace& job, std::span<const Window> steps = {},
                               std::optional<std::int32_t> late_rank = {}) {
  const Communications communications = match_and_align(job.trace);
  const Graph graph = build_graph(job.trace, communications);
  return what_if(graph, measure_gaps(graph), StepTimes(graph, communications, steps), late_rank);
}

// Two ranks compute, reduce and compute; rank 1 takes 150 longer before the reduce.
JobTrace late_rank_1() {
  JobTrace job(2);
  job.trace.metadata["backend"] = "sim";
  job.kernel(0, 0, 50);
  job.kernel(1, 0, 200);
  job.nccl(0, 50, 230, record_of(job.all(), 3));
  job.nccl(1, 200, 230, record_of(job.all(), 3));
  for (const std::int32_t rank : {0, 1}) job.kernel(rank, 230, 300);
  return job;
}

TEST(WhatIf, PlaysATraceAgainAsItWas) {
  JobTrace job(3);
  std::map<std::int32_t, std::int64_t> time;
  for (std::int64_t i = 0; i < 60; ++i) {
    std::int64_t last = 0;
    for (const std::int32_t rank : {0, 1, 2}) {
      job.trace.marks.push_back({rank, 0, static_cast<std::int32_t>(i), 5'000'000 * rank + time[rank]});
      const std::int64_t begin = time[rank] + (i * 37 + rank * 11) % 19;
      job.kernel(rank, 5'000'000 * rank + begin,
                 5'000'000 * rank + (time[rank] = begin + 20 + (i * 53 + rank * 29) % 67));
      last = std::max(last, time[rank]);
    }
    // Ends that are up to 6 ns apart leave clocks that are not quite right.
    for (const std::int32_t rank : {0, 1, 2})
      job.nccl(rank, 5'000'000 * rank + time[rank], 5'000'000 * rank + last + 2 + (rank * i) % 6,
               record_of(job.all(), static_cast<std::uint64_t>(i) + 1));
    for (const std::int32_t rank : {0, 1, 2}) time[rank] = last + 2 + (rank * i) % 6;
  }
  const Communications communications = match_and_align(job.trace);
  const std::vector<Window> steps = analysis::find_windows(job.trace).windows;
  const Durations as_measured = replayed(job, steps);
  EXPECT_EQ(as_measured.span_ns, span_of_all(build_graph(job.trace, communications)).length());
  std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> expected;
  for (const Window& step : steps) {
    const std::int64_t begin = communications.common_ns(step.rank, step.begin_ns);
    const std::int64_t end = communications.common_ns(step.rank, step.end_ns);
    auto& [latest_begin, latest_end] = expected.try_emplace(step.step, begin, end).first->second;
    latest_begin = std::max(latest_begin, begin);
    latest_end = std::max(latest_end, end);
  }
  std::vector<std::int64_t> lengths;
  for (const auto& [step, times] : expected) lengths.push_back(times.second - times.first);
  EXPECT_EQ(as_measured.step_ns, lengths);
}

TEST(WhatIf, TakesAModesTimeAwayAndBringsALateRankInTime) {
  JobTrace job = late_rank_1();
  EXPECT_EQ(replayed(job).span_ns, 300);
  EXPECT_EQ(replayed(job, {}, {.without_mode = Mode::dp}).span_ns, 270);
  EXPECT_EQ(replayed(job, {}, {.without_mode = Mode::tp}).span_ns, 300);
  EXPECT_EQ(replayed(job, {}, {.without_rank = 1}).span_ns, 150);
  EXPECT_EQ(replayed(job, {}, {.without_rank = 0}).span_ns, 300);
}

TEST(WhatIf, KeepsWhatWasHidden) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.nccl(0, 0, 90, "ncclDevKernel_AllReduce", Mode::dp);
  job.kernel(0, 100, 200);
  EXPECT_EQ(replayed(job, {}, {.without_mode = Mode::dp}).span_ns, 200);
}

TEST(WhatIf, StartsNothingBeforeItsOwnLaunch) {
  JobTrace job(2);
  for (const std::int32_t rank : {0, 1}) {
    job.call(rank, -8'000, -5'000, job.kernel(rank, 0, 100'000));
    job.call(rank, 42'000, 45'000, job.nccl(rank, 50'000, 150'000, record_of(job.all(), 1)));
    job.call(rank, 155'000, 158'000, job.kernel(rank, 160'000, 200'000));
  }
  const std::vector<WhatIf> answers = answers_of(job);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].name, "without dp");
  EXPECT_EQ(answers[0].saved_ns(), 0);
}

// The second kernel waits for an event that only the order of the calls shows.
TEST(WhatIf, ComputesHowMuchOfAnAnswerRestsOnGuesses) {
  JobTrace job(1);
  job.call(0, 0, 1'000, job.nccl(0, 10'000, 500'000, "ncclDevKernel_AllReduce", Mode::dp));
  job.call(0, 2'000, 3'000, job.kernel(0, 12'000, 100'000));
  job.host(0, 4'000, 5'000, "cudaStreamWaitEvent");
  job.call(0, 6'000, 7'000, job.kernel(0, 500'000, 600'000));
  const std::vector<WhatIf> answers = answers_of(job);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].saved_ns(), 400'000);
  EXPECT_EQ(answers[0].saved_unguessed_ns(), 0);
}

TEST(WhatIf, AnswersForEachModeAndTheLateRank) {
  JobTrace job = late_rank_1();
  const std::vector<WhatIf> answers = answers_of(job, {}, 1);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].name, "with rank 1 on time");
  EXPECT_EQ(answers[0].saved_ns(), 150);
  EXPECT_EQ(answers[1].name, "without dp");
  EXPECT_EQ(answers[1].saved_ns(), 30);
  EXPECT_FALSE(answers[1].is_step);
}

TEST(WhatIf, AnswersForTheMedianStepWhereThereAreSteps) {
  JobTrace job(1);
  for (const std::int64_t i : {0, 1, 2}) {
    job.kernel(0, 1000 * i, 1000 * i + 600);
    job.nccl(0, 1000 * i + 600, 1000 * i + 1000, "ncclDevKernel_AllReduce", Mode::tp);
  }
  const std::vector<Window> steps{{0, 0, 0, 0, 1000}, {0, 0, 1, 1000, 2000}, {0, 0, 2, 2000, 3000}};
  const std::vector<WhatIf> answers = answers_of(job, steps);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers[0].is_step);
  EXPECT_EQ(answers[0].before_ns, 1000);
  EXPECT_EQ(answers[0].after_ns, 600);
}

}  // namespace

}  // namespace underlap::graph
