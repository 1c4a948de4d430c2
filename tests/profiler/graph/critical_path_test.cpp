// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/critical_path.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::graph {
namespace {

using namespace ::testing;  // NOLINT

CriticalPath path_of(JobTrace& job) {
  job.trace.metadata["backend"] = "sim";
  const analysis::Communications communications = analysis::match_and_align(job.trace);
  const Graph graph = build_graph(job.trace, communications);
  return find_critical_path(graph, measure_gaps(graph), span_of_all(graph));
}

CriticalPath path_within(JobTrace& job, const analysis::Interval& span) {
  const Graph graph = build_graph(job.trace, analysis::match_and_align(job.trace));
  return find_critical_path(graph, measure_gaps(graph), span);
}

TEST(CriticalPath, RunsOverTheRankThatCameLast) {
  JobTrace job(2);
  job.kernel(0, 0, 50);
  const std::uint32_t late = job.kernel(1, 0, 200);
  const std::uint32_t reduce = job.nccl(0, 50, 230, record_of(job.all(), 3));
  job.nccl(1, 200, 230, record_of(job.all(), 3));
  const std::uint32_t after = job.kernel(0, 230, 300);
  job.kernel(1, 230, 260);
  const CriticalPath path = path_of(job);
  EXPECT_THAT(path.pieces, ElementsAre(PathPiece{1, PathKind::compute, late, 0, 200},
                                       PathPiece{0, PathKind::communication, reduce, 200, 230},
                                       PathPiece{0, PathKind::compute, after, 230, 300}));
  EXPECT_THAT(path.kinds, ElementsAre(Pair(PathKind::compute, 270), Pair(PathKind::communication, 30)));
  EXPECT_THAT(path.modes, ElementsAre(Pair("dp", 30)));
  EXPECT_THAT(path.ranks, ElementsAre(Pair(0, 100), Pair(1, 200)));
  EXPECT_EQ(path.num_changes, 1);
}

TEST(CriticalPath, TellsALateLaunchFromAGap) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 120, 150, job.kernel(0, 180, 300));
  job.kernel(0, 350, 400);
  EXPECT_THAT(path_of(job).kinds,
              ElementsAre(Pair(PathKind::compute, 270), Pair(PathKind::launch, 80), Pair(PathKind::gap, 50)));
}

// The last to end before is hidden communication; the arrow says that the first kernel is what mattered.
TEST(CriticalPath, FollowsTheArrowsOfTheTraceBeforeItGuesses) {
  for (const bool has_arrow : {false, true}) {
    JobTrace job(1);
    const std::uint32_t first = job.kernel(0, 0, 100);
    const std::uint32_t hidden = job.nccl(0, 0, 120);
    job.trace.add(testing_support::slice_of(JobTrace::track(0, 0), 105, 5, "wait", testing_support::kNoWork));
    const auto wait = static_cast<std::uint32_t>(job.trace.size() - 1);
    job.kernel(0, 130, 200);
    if (has_arrow) job.trace.flows.push_back({first, wait, FlowKind::dependency});
    const CriticalPath path = path_of(job);
    EXPECT_EQ(path.pieces.front().slice, has_arrow ? first : hidden);
  }
}

TEST(CriticalPath, FillsItsSpanExactlyWhateverTheTrace) {
  JobTrace job(4);
  std::map<std::int32_t, std::int64_t> time;
  for (std::int64_t i = 0; i < 100; ++i) {
    std::int64_t last = 0;
    for (const std::int32_t rank : {0, 1, 2, 3}) {
      const std::int64_t begin = time[rank] + (i * 37 + rank * 11) % 19;
      job.kernel(rank, begin, time[rank] = begin + 20 + (i * 53 + rank * 29) % 67);
      if (i % 7 == 0) job.kernel(rank, time[rank], time[rank], "nothing");
      last = std::max(last, time[rank]);
    }
    for (const std::int32_t rank : {0, 1, 2, 3}) {
      job.nccl(rank, time[rank], last + 15 + rank, record_of(job.all(), static_cast<std::uint64_t>(i) + 1));
      time[rank] = last + 15 + rank;
    }
  }
  const CriticalPath path = path_of(job);
  std::int64_t next = path.span.begin, modes = 0;
  for (const PathPiece& piece : path.pieces) {
    EXPECT_EQ(piece.begin_ns, next);
    next = piece.end_ns;
  }
  EXPECT_EQ(next, path.span.end);
  for (const auto& [mode, ns] : path.modes) modes += ns;
  EXPECT_EQ(modes, path.kinds.at(PathKind::communication));
  EXPECT_GT(path.num_changes, 10);
}

TEST(CriticalPath, StaysInItsSpan) {
  JobTrace job(1);
  for (std::int64_t i = 0; i < 10; ++i) job.kernel(0, 100 * i, 100 * i + 100);
  const CriticalPath path = path_within(job, {250, 700});
  EXPECT_EQ(path.pieces.front().begin_ns, 250);
  EXPECT_THAT(path.kinds, ElementsAre(Pair(PathKind::compute, 450)));
}

TEST(CriticalPath, IsAGapWhereNothingRuns) {
  JobTrace job(1);
  EXPECT_THAT(path_within(job, {0, 70}).kinds, ElementsAre(Pair(PathKind::gap, 70)));
}

}  // namespace
}  // namespace underlap::graph
