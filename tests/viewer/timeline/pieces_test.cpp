// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/pieces.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/viewer/timeline/random_segments.hpp"
#include "viewer/timeline/row_pieces.hpp"

namespace underlap::viewer {
namespace {

using namespace underlap::testing_support;  // NOLINT

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Pieces, SliverOfAMicrosecondStaysInAPictureOfTenSeconds) {
  std::mt19937 random(3);
  constexpr int kWidth = 1700;
  Segments segments;
  std::set<int> pixels;
  const View view{.begin_ns = 0, .ns_per_pixel = 10.0 * kSecond / kWidth, .width = kWidth};
  std::int64_t now = 0;
  // Compute without a gap, cut by slivers.
  while (now < 10 * kSecond) {
    const std::int64_t next = now + std::uniform_int_distribution<std::int64_t>(1000, 80'000'000)(random);
    if (next + 1000 >= 10 * kSecond) break;
    segments.add(now, next, {Paint::compute});
    segments.add(next, next + 1000, {Paint::exposed_transfer, bit_of(Mode::dp)});
    pixels.insert(static_cast<int>(view.x_of(static_cast<double>(next))));
    now = next + 1000;
  }
  segments.finish();
  std::vector<Piece> pieces;
  find_pieces(segments, view, pieces);
  std::set<int> found;
  for (const Piece& piece : pieces)
    if (piece.exposed.paint == Paint::exposed_transfer && piece.exposed.modes == bit_of(Mode::dp) &&
        piece.exposed_share > 0)
      found.insert(static_cast<int>(piece.left));
  EXPECT_GT(pixels.size(), 150U);
  EXPECT_EQ(found, pixels);
}

// Of any segments and any view, each exposed segment that the view shows is in an exposed piece at its place.
TEST(Pieces, NoExposedSegmentVanishesAtAnyZoom) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const Segments segments = testing_support::random_segments(random, 700, 50);
    const auto end = static_cast<double>(segments.end_ns(segments.size() - 1));
    const double span = end / std::pow(2.0, std::uniform_real_distribution<>(0, 9)(random));
    const View view{
        .begin_ns = std::uniform_real_distribution<>(0, end - span)(random), .ns_per_pixel = span / 100, .width = 100};
    std::vector<Piece> pieces;
    find_pieces(segments, view, pieces);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const double left = view.x_of(static_cast<double>(segments.begin_ns(i)));
      const double right = view.x_of(static_cast<double>(segments.end_ns(i)));
      if (!is_exposed(segments.shade(i).paint) || right <= 0.01 || left >= 99.99) continue;
      bool is_found = false;
      for (const Piece& piece : pieces)
        is_found |= piece.exposed_share > 0 && (piece.exposed.modes & segments.shade(i).modes) != 0 &&
                    piece.left <= std::max(left, 0.0) + 1e-3 && piece.right >= std::min(left, 99.0);
      EXPECT_TRUE(is_found) << "segment " << i << " at " << left << " to " << right;
    }
  }
}

TEST(Pieces, AreNoMoreThanThePictureNeeds) {
  std::mt19937 random(5);
  const Segments segments = testing_support::random_segments(random, 200'000, 50);
  const View view{.begin_ns = 0, .ns_per_pixel = segments.end_ns(segments.size() - 1) / 500.0, .width = 500};
  std::vector<Piece> pieces;
  find_pieces(segments, view, pieces);
  EXPECT_LE(pieces.size(), 501U);
  EXPECT_GE(pieces.size(), 490U);
}

TEST(Pieces, WideSegmentsHaveTheirEdges) {
  Segments segments;
  segments.add(100, 300, {Paint::compute});
  segments.add(300, 350, {Paint::hidden, bit_of(Mode::tp)});
  segments.finish();
  std::vector<Piece> pieces;
  find_pieces(segments, {.begin_ns = 200, .ns_per_pixel = 10, .width = 12}, pieces);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_FLOAT_EQ(pieces[0].left, 0);
  EXPECT_FLOAT_EQ(pieces[0].right, 10);
  EXPECT_FLOAT_EQ(pieces[1].left, 10);
  EXPECT_FLOAT_EQ(pieces[1].right, 12);
  EXPECT_EQ(pieces[1].base, (Shade{Paint::hidden, bit_of(Mode::tp)}));
}

TEST(Pieces, PixelShowsWhatTakesMostOfItAndHowMuchIsThere) {
  Segments segments;
  segments.add(0, 2, {Paint::compute});
  segments.add(3, 4, {Paint::copy});
  segments.add(6, 7, {Paint::exposed_wait, bit_of(Mode::pp)});
  segments.finish();
  std::vector<Piece> pieces;
  find_pieces(segments, {.begin_ns = 0, .ns_per_pixel = 10, .width = 4}, pieces);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].base.paint, Paint::compute);
  EXPECT_FLOAT_EQ(pieces[0].coverage, 0.3F);
  EXPECT_FLOAT_EQ(pieces[0].exposed_share, 0.1F);
  EXPECT_EQ(pieces[0].exposed, (Shade{Paint::exposed_wait, bit_of(Mode::pp)}));
}

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
    const Trace trace =
        random_trace(random, {.num_ranks = 2, .num_streams = 3, .num_slices = 40, .is_foreign = round % 2 == 1});
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
  trace.add(slice_of(0, 0, 400'000));
  trace.add(slice_of(0, 400'010, 600'000));
  trace.add(slice_of(1, 0, 1'000'000, "", communication(Mode::dp, "")));
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
