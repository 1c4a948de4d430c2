// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/row_pieces.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/profiler/random_trace.hpp"

namespace underlap::viewer {
namespace {

// What a slice is at a moment of the timeline, found by looking at every slice of its rank.
Paint paint_at(const Timeline& timeline, std::uint32_t slice, std::int64_t time_ns) {
  const Trace& trace = timeline.trace();
  switch (trace.tag(slice).kind) {
    case Kind::compute: return Paint::compute;
    case Kind::copy: return Paint::copy;
    case Kind::none: return Paint::wait;
    case Kind::communication: break;
  }
  const std::int32_t rank = trace.track_of(slice).rank;
  for (std::uint32_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).kind == Kind::compute && trace.track_of(i).rank == rank && timeline.begin_ns(i) <= time_ns &&
        timeline.end_ns(i) > time_ns)
      return Paint::hidden;
  const CommunicationRecord* record = trace.communication(slice);
  if (record == nullptr || record->last_arrival_ns == -1) return Paint::exposed_unsplit;
  return time_ns < timeline.time_of(rank, record->last_arrival_ns) ? Paint::exposed_wait : Paint::exposed_transfer;
}

// At a nanosecond a pixel every piece is wide.
TEST(RowPieces, AreWhatEverySliceIsAtEveryNanosecond) {
  std::mt19937 random(9);
  int num_divided = 0;
  for (int round = 0; round < 60; ++round) {
    const Trace trace = underlap::testing_support::random_trace(
        random, {.num_ranks = 2, .num_streams = 3, .num_slices = 40, .is_foreign = round % 2 == 1});
    const Timeline timeline(trace, analysis::Summary{}, 1);
    const View view{.begin_ns = std::floor(static_cast<double>(timeline.length_ns()) / 7),
                    .ns_per_pixel = 1,
                    .width = static_cast<int>(std::min<std::int64_t>(timeline.length_ns() / 2, 3000))};
    for (const Lane& lane : timeline.lanes()) {
      if (lane.kind != LaneKind::stream) continue;
      for (const LaneRow& row : lane.rows) {
        std::vector<Paint> drawn(static_cast<std::size_t>(view.width), Paint::nothing);
        std::vector<Piece> pieces;
        find_pieces(timeline, lane, row, view, pieces);
        for (const Piece& piece : pieces)
          for (auto x = static_cast<int>(piece.left); x < static_cast<int>(piece.right); ++x)
            drawn[static_cast<std::size_t>(x)] = piece.exposed_share > 0 ? piece.exposed.paint : piece.base.paint;
        for (int x = 0; x < view.width; ++x) {
          const auto time_ns = static_cast<std::int64_t>(view.begin_ns) + x;
          const std::uint32_t slice = timeline.slice_at(row, time_ns);
          const Paint expected = slice == Timeline::kNoSlice ? Paint::nothing : paint_at(timeline, slice, time_ns);
          ASSERT_EQ(drawn[static_cast<std::size_t>(x)], expected)
              << "round " << round << ", " << lane.name << " at " << x;
          num_divided += is_exposed(expected);
        }
      }
    }
  }
  EXPECT_GT(num_divided, 1000);
}

// A communication whose exposed part is far less than a pixel, where it is a thousand pixels wide itself.
TEST(RowPieces, SliverWithinAWideCommunicationStays) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add_track({0, 1, "dp"});
  const auto add = [&](std::uint32_t track, std::int64_t start, std::int64_t length, Tag tag) {
    trace.add({.track = track, .start_ns = start, .duration_ns = length, .name = intern("work"), .tag = tag});
  };
  add(0, 0, 400'000, {.kind = Kind::compute});
  add(0, 400'010, 600'000, {.kind = Kind::compute});
  add(1, 0, 1'000'000, {.kind = Kind::communication, .mode = Mode::dp});
  const Timeline timeline(trace, analysis::Summary{}, 1);
  std::vector<Piece> pieces;
  find_pieces(timeline, timeline.lanes()[2], timeline.lanes()[2].rows.front(),
              {.begin_ns = 0, .ns_per_pixel = 1000, .width = 1000}, pieces);
  int exposed = 0;
  for (const Piece& piece : pieces) {
    if (piece.exposed_share <= 0) continue;
    ++exposed;
    EXPECT_EQ(piece.exposed, (Shade{Paint::exposed_unsplit, bit_of(Mode::dp)}));
    EXPECT_NEAR(piece.left, 400, 1);
    EXPECT_LT(piece.exposed_share, 1);
  }
  EXPECT_EQ(exposed, 1);
}

}  // namespace
}  // namespace underlap::viewer
