// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/pieces.hpp"

#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include "tests/viewer/timeline/random_segments.hpp"

namespace underlap::viewer {
namespace {

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

}  // namespace
}  // namespace underlap::viewer
