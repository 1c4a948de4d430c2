// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/rank_sweep.hpp"

#include <gtest/gtest.h>

#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {
namespace {

using namespace underlap::testing_support;  // NOLINT
using analysis::Split;

const Lane& strip_of(const Timeline& timeline, std::int32_t rank) {
  for (const Lane& lane : timeline.lanes())
    if (lane.kind == LaneKind::strip && lane.rank == rank) return lane;
  throw std::logic_error("no strip");
}

// The parts of a strip, as analysis::Split names them.
struct Parts {
  std::int64_t compute_only = 0, hidden = 0, copy_only = 0, wait = 0, unsplit = 0;
  std::map<std::string, std::int64_t> exposed;
};

Parts parts_of(const Segments& strip) {
  Parts parts;
  for (std::size_t i = 0; i < strip.size(); ++i) {
    const std::int64_t ns = strip.end_ns(i) - strip.begin_ns(i);
    const Shade shade = strip.shade(i);
    if (shade.paint == Paint::compute) parts.compute_only += ns;
    if (shade.paint == Paint::hidden) parts.hidden += ns;
    if (shade.paint == Paint::copy) parts.copy_only += ns;
    if (shade.paint == Paint::exposed_wait) parts.wait += ns;
    if (shade.paint == Paint::exposed_unsplit) parts.unsplit += ns;
    if (is_exposed(shade.paint)) parts.exposed[modes_text(shade.modes)] += ns;
  }
  return parts;
}

TEST(RankSweep, StripIsTheSplitOfTheAnalysisToTheNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Trace trace = random_trace(
        random, {.num_ranks = 2, .num_streams = 1 + round % 5, .num_slices = 10 + round, .is_foreign = round % 2 == 1});
    const Timeline timeline(trace, analysis::Summary{}, 1);
    for (const std::int32_t rank : timeline.ranks()) {
      if (!analysis::work_by_rank(trace).contains(rank)) continue;
      const Split split = analysis::split_window(trace, {rank, -1, -1, -100'000, 100'000});
      const Parts parts = parts_of(strip_of(timeline, rank).rows.front().segments);
      EXPECT_EQ(parts.compute_only, split.compute_only_ns) << "round " << round;
      EXPECT_EQ(parts.hidden, split.hidden_ns) << "round " << round;
      EXPECT_EQ(parts.copy_only, split.copy_only_ns) << "round " << round;
      EXPECT_EQ(parts.exposed, split.exposed_ns_by_modes) << "round " << round;
      EXPECT_EQ(parts.wait, split.exposed_wait_ns) << "round " << round;
      EXPECT_EQ(parts.unsplit, split.exposed_unsplit_ns) << "round " << round;
    }
  }
}

TEST(RankSweep, PiecesOfASliceSumToItsDuration) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const Trace trace = random_trace(random, {.num_slices = 80});
    const Timeline timeline(trace, analysis::Summary{}, 2);
    for (const Lane& lane : timeline.lanes()) {
      if (lane.kind != LaneKind::stream) continue;
      for (const LaneRow& row : lane.rows) {
        std::int64_t durations = 0, pieces = 0, last = INT64_MIN;
        for (const std::uint32_t slice : row.slices) durations += trace.duration_ns()[slice];
        for (std::size_t i = 0; i < row.segments.size(); ++i) {
          EXPECT_GE(row.segments.begin_ns(i), last);
          last = row.segments.end_ns(i);
          pieces += last - row.segments.begin_ns(i);
        }
        EXPECT_EQ(pieces, durations);
      }
    }
  }
}

TEST(RankSweep, TellsHowMuchOfACommunicationIsExposedAndHow) {
  Trace trace = testing_support::with_streams({"compute", "dp"});
  trace.add_group({intern("g"), {0, 1}});
  trace.add(slice_of(0, 0, 10, "gemm"));
  trace.add(slice_of(1, 5, 30, "gather", communication(Mode::dp, "")),
            {.group = 0, .last_arrival_ns = 20, .transfers = {}});
  trace.add(slice_of(0, 25, 5, "gemm"));
  const Timeline timeline(trace, analysis::Summary{}, 1);
  const Segments& row = timeline.lanes()[2].rows.front().segments;
  ASSERT_EQ(row.size(), 1U);
  EXPECT_EQ(row.shade(0), (Shade{Paint::exposed_wait, bit_of(Mode::dp)}));
  EXPECT_EQ(row.content(0, 1).exposed_ns, 20);
  EXPECT_EQ(row.content(0, 1).hidden_ns, 10);
  ASSERT_EQ(timeline.exposed().size(), 1U);
  EXPECT_EQ(timeline.exposed()[0].slice, 1U);
  EXPECT_EQ(timeline.exposed()[0].wait_ns, 10);
  EXPECT_EQ(timeline.exposed()[0].transfer_ns, 10);
}

}  // namespace
}  // namespace underlap::viewer
