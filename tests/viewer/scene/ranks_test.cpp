// SPDX-License-Identifier: Apache-2.0
// Traces of many ranks: strips, folded lanes, the steps of each rank, and marks of a search.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/viewer/scene/drawn.hpp"
#include "tests/viewer/small_traces.hpp"

namespace underlap::viewer {
namespace {

using namespace testing_support;  // NOLINT

std::vector<std::string> placed_lanes(const Drawn& drawn) {
  std::vector<std::string> names;
  for (const PlacedLane& placed : drawn.scene.layout(kSize.width(), drawn.state))
    names.push_back(drawn.timeline.lanes()[placed.lane].name);
  return names;
}

TEST(Ranks, CollapsedOnesAreStripsWithATriangle) {
  Drawn drawn(ranks_of_one_group(8));
  EXPECT_EQ(placed_lanes(drawn),
            (std::vector<std::string>{"rank 0", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5", "rank 6", "rank 7"}));
  const auto triangles = [&] {
    std::map<QString, int> count;
    for (const Label& label : words_of(drawn)) ++count[label.text];
    return std::pair{count[QChar(0x25b8)], count[QChar(0x25be)]};
  };
  EXPECT_EQ(triangles(), std::pair(8, 0));
  const int before = drawn.scene.height_of_lanes();
  drawn.arrangement.set_collapsed(0, false);
  EXPECT_EQ(placed_lanes(drawn).size(), 10U);
  EXPECT_EQ(triangles(), std::pair(7, 1));
  EXPECT_GT(drawn.scene.height_of_lanes(), before);
}

// Over 8 ranks: an arrow from a slice to the slices that waited for it.
TEST(Ranks, ArrowsLeadToTheStripsOfCollapsedRanks) {
  const auto colored_over_strip = [](bool has_arrow) {
    Trace trace = ranks_of_one_group(8);
    if (has_arrow) trace.flows.push_back({1, 7});  // the reduce-scatters of ranks 0 and 1
    Drawn drawn(trace);
    drawn.state.selected = 7;
    const QRect strip = drawn.lane("rank 1").where;
    const QImage image = drawn.over();
    int colored = 0;
    for (int x = Scene::kNames; x < image.width(); ++x)
      for (int y = strip.top(); y <= strip.bottom(); ++y) colored += image.pixel(x, y) != qRgb(255, 255, 255);
    return colored;
  };
  EXPECT_GT(colored_over_strip(true), colored_over_strip(false));
}

// The steps of rank 1 begin and end a millisecond later.
TEST(Ranks, StepsOfARankAreShownIfTheirTimesDifferFromTheRuler) {
  for (const bool differ : {false, true}) {
    Trace trace = two_ranks(0);
    for (Mark& mark : trace.marks)
      if (differ && mark.rank == 1) mark.time_ns += 1'000'000;
    const Drawn drawn(trace, analysis::summarize(trace));
    const QImage image = drawn.image();
    const std::vector<PlacedLane> lanes = drawn.scene.place(kSize, drawn.state);
    // Where the color of the band above a strip changes, without the ends.
    const auto boundaries = [&](const char* name) {
      std::vector<int> at;
      const int y = drawn.lane(name).where.top() - 3;
      for (int x = Scene::kNames + 50; x < image.width() - 50; ++x)
        if (image.pixel(x, y) != image.pixel(x - 1, y)) at.push_back(x);
      return at;
    };
    const auto at = [&](double ns) {
      return Scene::kNames + static_cast<int>(std::lround(drawn.scene.view_of(kSize, drawn.state).x_of(ns)));
    };
    using Places = std::vector<int>;
    EXPECT_EQ(boundaries("rank 0"), Places());  // the ruler shows them
    EXPECT_EQ(boundaries("rank 1"), differ ? (Places{at(13e6), at(25e6)}) : Places());
    const std::vector<Label> words = words_of(drawn);
    EXPECT_EQ(std::ranges::find(words, QString("steps of rank 0"), &Label::text) != words.end(), differ);
  }
}

bool has_mark(const QImage& image, int x, const QRect& lane, int height) {
  return colors_at(image, x, lane.top(), lane.top() + height).contains(Theme::light().text.rgb());
}

TEST(Ranks, FoundSlicesAreMarkedInTheirLanesAndOnCollapsedRanks) {
  Drawn drawn(ranks_of_one_group(8));
  drawn.arrangement.set_collapsed(0, false);
  EXPECT_FALSE(has_mark(drawn.over(), drawn.x_of(7e6), drawn.lane("dp").where, 18));
  // The first reduce-scatters of ranks 0 and 7, from 7 and 7.5 to 11 ms.
  drawn.state.found = std::make_shared<FoundSlices>(drawn.timeline, std::vector<std::uint32_t>{1, 43});
  QImage image = drawn.over();
  const QRect dp = drawn.lane("dp").where, last = drawn.lane("rank 7").where;
  EXPECT_TRUE(has_mark(image, drawn.x_of(9e6), dp, 18));
  EXPECT_FALSE(has_mark(image, drawn.x_of(5e6), dp, 18));
  EXPECT_TRUE(has_mark(image, drawn.x_of(9e6), last, 17));
  EXPECT_FALSE(has_mark(image, drawn.x_of(9e6), drawn.lane("rank 6").where, 17));
  EXPECT_FALSE(has_mark(image, drawn.x_of(9e6), drawn.lane("rank 0").where, 17));  // it is expanded
  // The current one has another color in its middle.
  const QPoint middle(drawn.x_of(9e6), dp.center().y());
  EXPECT_EQ(image.pixel(middle), qRgb(255, 255, 255));
  drawn.state.selected = 1;
  image = drawn.over();
  EXPECT_NE(image.pixel(middle), qRgb(255, 255, 255));
}

// A thousand slices of a tenth of a pixel each: what they show stays visible between the ticks above and below.
TEST(Ranks, NarrowFoundSlicesLeaveTheirMiddleVisible) {
  Trace trace = with_streams({"dp"});
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    trace.add(slice_of(0, 200 * i, 20, "all_reduce", communication(Mode::dp, "grads")));
    found.push_back(i);
  }
  Drawn drawn(trace);
  drawn.state.found = std::make_shared<FoundSlices>(drawn.timeline, found);
  const QImage image = drawn.over();
  const QRect dp = drawn.lane("dp").where;
  int marked = 0;
  for (int x = Scene::kNames; x < image.width(); ++x) {
    marked += image.pixel(x, dp.top() + 1) != qRgb(255, 255, 255);
    EXPECT_EQ(image.pixel(x, dp.top() + 9), qRgb(255, 255, 255));
  }
  EXPECT_GT(marked, 300);
}

}  // namespace
}  // namespace underlap::viewer
