// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/profiler/random_trace.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/timeline/counter_series.hpp"

namespace underlap::viewer {
namespace {

using namespace underlap::testing_support;  // NOLINT

// `count` segments of all paints, some touching, some far apart, lengths from 1 to `longest_ns`.
Segments random_segments(std::mt19937& random, std::size_t count, std::int64_t longest_ns) {
  Segments segments;
  std::int64_t now = std::uniform_int_distribution<std::int64_t>(0, 100)(random);
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = std::uniform_int_distribution<std::int64_t>(1, longest_ns)(random);
    const auto paint = static_cast<Paint>(std::uniform_int_distribution<int>(1, kNumPaints - 1)(random));
    const bool communicates = paint >= Paint::hidden;
    const auto mode = static_cast<Mode>(std::uniform_int_distribution<int>(0, 7)(random));
    segments.add(now, now + length, {paint, communicates ? bit_of(mode) : std::uint8_t{0}});
    now += length + (i % 3 == 0 ? 0 : std::uniform_int_distribution<std::int64_t>(0, 3 * longest_ns)(random));
  }
  segments.finish();
  return segments;
}

TEST(Segments, TreeTellsOfAnyRangeWhatLookingAtEachWould) {
  std::mt19937 random(1);
  for (const std::size_t count : {1U, 15U, 16U, 17U, 256U, 5000U}) {
    const Segments segments = random_segments(random, count, 40);
    for (int i = 0; i < 200; ++i) {
      std::uniform_int_distribution<std::size_t> any(0, count);
      std::size_t from = any(random), to = any(random);
      if (from > to) std::swap(from, to);
      Content expected;
      for (std::size_t s = from; s < to; ++s)
        expected.add(segments.shade(s), static_cast<float>(segments.end_ns(s) - segments.begin_ns(s)));
      const Content found = segments.content(from, to);
      EXPECT_EQ(found.compute_ns, expected.compute_ns);
      EXPECT_EQ(found.hidden_ns, expected.hidden_ns);
      EXPECT_EQ(found.exposed_ns, expected.exposed_ns);
      EXPECT_EQ(found.other_ns, expected.other_ns);
      EXPECT_EQ(found.exposed, expected.exposed);
      EXPECT_EQ(found.exposed_modes, expected.exposed_modes);
      EXPECT_EQ(found.hidden_modes, expected.hidden_modes);
    }
  }
}

TEST(Segments, FindsTheFirstThatEndsAfterAMoment) {
  Segments segments;
  segments.add(10, 20, {Paint::compute});
  segments.add(20, 30, {Paint::compute});
  segments.add(50, 60, {Paint::copy});
  segments.finish();
  EXPECT_EQ(segments.first_ending_after(0), 0U);
  EXPECT_EQ(segments.first_ending_after(19), 0U);
  EXPECT_EQ(segments.first_ending_after(20), 1U);
  EXPECT_EQ(segments.first_ending_after(40), 2U);
  EXPECT_EQ(segments.first_ending_after(60), 3U);
}

TEST(Segments, FindsTheFirstThatBeginsAtAMomentFromAnyPlace) {
  std::mt19937 random(2);
  const Segments segments = random_segments(random, 3000, 20);
  for (int i = 0; i < 500; ++i) {
    const std::size_t from = std::uniform_int_distribution<std::size_t>(0, 2999)(random);
    const std::int64_t time = segments.begin_ns(from) + std::uniform_int_distribution<std::int64_t>(1, 9000)(random);
    std::size_t expected = from;
    while (expected < segments.size() && segments.begin_ns(expected) < time) ++expected;
    EXPECT_EQ(segments.first_beginning_at(time, from), expected);
  }
}

TEST(Segments, ExtendsWhatTouchesAndIsAlike) {
  Segments segments;
  segments.extend(0, 10, {Paint::compute});
  segments.extend(10, 15, {Paint::compute});
  segments.extend(15, 20, {Paint::hidden, bit_of(Mode::dp)});
  segments.extend(20, 25, {Paint::hidden, bit_of(Mode::tp)});
  segments.extend(30, 35, {Paint::hidden, bit_of(Mode::tp)});
  segments.finish();
  ASSERT_EQ(segments.size(), 4U);
  EXPECT_EQ(segments.end_ns(0), 15);
}

TEST(Segments, KeepsTheLengthOfWhatIsLongerThanAColumnHolds) {
  constexpr std::int64_t kYear = 31'557'600'000'000'000;
  Segments segments;
  segments.add(0, 5, {Paint::copy});
  segments.add(5, 5 + 200 * kYear, {Paint::compute});
  segments.extend(5 + 200 * kYear, 6 + 200 * kYear, {Paint::compute});
  segments.add(7 + 200 * kYear, 8 + 200 * kYear, {Paint::copy});
  segments.finish();
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments.end_ns(0), 5);
  EXPECT_EQ(segments.end_ns(1), 6 + 200 * kYear);
  EXPECT_EQ(segments.end_ns(2), 8 + 200 * kYear);
  EXPECT_EQ(segments.first_ending_after(100 * kYear), 1U);
  EXPECT_FLOAT_EQ(segments.content(0, 3).compute_ns, static_cast<float>(200 * kYear));
}

TEST(CounterSeries, TreeTellsOfAnyRangeWhatLookingAtEachWould) {
  std::mt19937 random(3);
  for (const std::size_t count : {1U, 16U, 17U, 255U, 257U, 5000U}) {
    CounterSeries series;
    std::vector<std::pair<std::int64_t, double>> samples;
    for (std::size_t i = 0; i < count; ++i)
      samples.emplace_back(std::uniform_int_distribution<std::int64_t>(0, 10'000)(random),
                           std::uniform_real_distribution<>(-1, 1)(random));
    for (const auto& [time, value] : samples) series.add(time, value);
    series.finish();
    std::ranges::stable_sort(samples, {}, &std::pair<std::int64_t, double>::first);
    for (int i = 0; i < 200; ++i) {
      std::size_t from = std::uniform_int_distribution<std::size_t>(0, count)(random);
      std::size_t to = std::uniform_int_distribution<std::size_t>(0, count)(random);
      if (from > to) std::swap(from, to);
      ValueRange expected;
      for (std::size_t s = from; s < to; ++s) expected.take({samples[s].second, samples[s].second});
      EXPECT_EQ(series.range(from, to).least, expected.least) << count << ", " << from << " to " << to;
      EXPECT_EQ(series.range(from, to).most, expected.most);
      EXPECT_EQ(series.range(from, to).is_empty(), from == to);
    }
  }
}

TEST(CounterSeries, FindsTheFirstAtAMoment) {
  CounterSeries series;
  series.add(20, 2);
  series.add(10, 1);
  series.finish();
  EXPECT_EQ(series.value(0), 1);
  EXPECT_EQ(series.first_at(10), 0U);
  EXPECT_EQ(series.first_at(11), 1U);
  EXPECT_EQ(series.first_at(21), 2U);
}

// Of any segments and any view, each exposed segment that the view shows is in an exposed piece at its place.
TEST(Pieces, NoExposedSegmentVanishesAtAnyZoom) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const Segments segments = random_segments(random, 700, 50);
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
  const Segments segments = random_segments(random, 200'000, 50);
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
  Trace trace = testing_support::with_streams({"compute", "dp"});
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
