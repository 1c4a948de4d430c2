// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QBuffer>
#include <QSvgGenerator>

#include "tests/profiler/random_trace.hpp"
#include "tests/viewer/scene/drawn.hpp"
#include "tests/viewer/small_traces.hpp"

namespace underlap::viewer {
namespace {

using ::testing::ElementsAre;
using namespace testing_support;  // NOLINT

// Ten seconds of compute, cut by a microsecond of exposed communication at many places.
Trace with_slivers(std::vector<std::int64_t>& at) {
  constexpr std::int64_t kTenSeconds = 10'000'000'000;
  std::mt19937 random(21);
  Trace trace = with_streams({"compute", "dp"});
  std::int64_t now = 0;
  while (now < kTenSeconds) {
    const std::int64_t next = now + std::uniform_int_distribution<std::int64_t>(1'000'000, 120'000'000)(random);
    trace.add(slice_of(0, now, next - now, "gemm"));
    trace.add(slice_of(1, next, 1000, "all_reduce", communication(Mode::dp, "grad_all_reduce")));
    at.push_back(next);
    now = next + 1000;
  }
  return trace;
}

TEST(Scene, EverySliverOfExposedCommunicationIsOnThePicture) {
  std::vector<std::int64_t> slivers;
  const Trace trace = with_slivers(slivers);
  for (const Theme* theme : {&Theme::light(), &Theme::dark()})
    for (const double scale : {1.0, 2.0}) {
      const Drawn drawn(trace);
      const QImage image = drawn.image(scale, *theme);
      for (const char* name : {"rank 0", "dp"}) {
        const QRect lane = drawn.lane(name).where;
        std::set<int> pixels, found;
        for (const std::int64_t sliver : slivers) pixels.insert(drawn.x_of(static_cast<double>(sliver), scale));
        for (int x = static_cast<int>(Scene::kNames * scale); x < image.width(); ++x)
          for (int y = static_cast<int>(lane.top() * scale); y < static_cast<int>(lane.bottom() * scale); ++y)
            if (image.pixel(x, y) == theme->exposed(Mode::dp).rgb()) found.insert(x);
        EXPECT_GT(pixels.size(), 120U);
        EXPECT_EQ(found, pixels) << name << " at scale " << scale;
      }
    }
}

class OneThread : public ImageSurface {
 public:
  using ImageSurface::ImageSurface;
  std::unique_ptr<Surface> for_second_thread() const override { return nullptr; }
};

TEST(Scene, IsTheSamePictureWhetherOneThreadDrawsItOrTwo) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    const Trace trace = underlap::testing_support::random_trace(random, {.num_slices = 400, .is_foreign = true});
    const Drawn drawn(trace);
    QImage by_one(kSize, QImage::Format_RGB32);
    OneThread surface(by_one, 1);
    drawn.scene.draw(surface, kSize, 1, drawn.state, Palette(Theme::light()), QApplication::font());
    EXPECT_EQ(drawn.image(), by_one) << "round " << round;
  }
}

TEST(Scene, ArrowToALaneOutOfSightLeavesThePictureThere) {
  Trace linked = two_ranks(0);
  linked.flows.push_back({1, 7});  // rank 0's first reduce-scatter, rank 1's
  Drawn drawn(linked);
  drawn.state.selected = 7;
  const auto above_the_lane = [&] {
    const QImage image = drawn.over();
    int colored = 0;
    for (int y = Scene::kRulers; y < Scene::kRulers + 10; ++y)
      for (int x = Scene::kNames; x < image.width(); ++x) colored += image.pixel(x, y) != qRgb(255, 255, 255);
    return colored;
  };
  drawn.state.scroll = 70;  // rank 0 is out of sight
  EXPECT_THROW(drawn.lane("rank 0"), std::logic_error);
  EXPECT_GT(above_the_lane(), 0);
  drawn.state.selected = 0;  // which no arrow leads to
  EXPECT_EQ(above_the_lane(), 0);
}

// Rank 0 waits 100 of 200 for rank 1: between the lanes the arrow stays near the moment at which rank 1 came, and that
// rank's slice is marked.
TEST(Scene, ArrowOfAWaitEndsWhereTheWaitEndsAndTheLateMemberIsMarked) {
  Trace trace;
  for (std::int32_t rank = 0; rank < 2; ++rank) trace.add_track({rank, 0, "dp"});
  trace.add_group({intern("dp"), {0, 1}});
  const Tag tag = communication(Mode::dp, "grad_all_reduce");
  trace.add(slice_of(0, 0, 1'000'000, "all_reduce", tag),
            {.group = 0, .sequence = 1, .last_arrival_ns = 500'000, .transfers = {}});
  trace.add(slice_of(1, 500'000, 500'000, "all_reduce", tag),
            {.group = 0, .sequence = 1, .last_arrival_ns = 500'000, .transfers = {}});
  analysis::Summary summary = analysis::match_and_summarize(trace, {});
  Drawn drawn(trace, std::move(summary));
  drawn.state.selected = 0;
  const QImage image = drawn.over();
  const int came = drawn.x_of(500'000);
  const int between = drawn.lane("rank 1").where.center().y();
  std::vector<int> crossed;
  for (int x = Scene::kNames; x < image.width(); ++x)
    if (image.pixel(x, between) != qRgb(255, 255, 255)) crossed.push_back(x);
  ASSERT_FALSE(crossed.empty());
  EXPECT_GT(crossed.front(), came - 20);
  EXPECT_LT(crossed.back(), came + 20);
  const std::vector<PlacedLane> lanes = drawn.scene.place(kSize, drawn.state);
  const int middle = lanes.back().where.center().y();
  EXPECT_EQ(image.pixel(came - 3, middle), Theme::light().worse.rgb());
}

TEST(Scene, SpikeOfACounterStaysAmongManySamplesOfAPixel) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  const std::uint32_t counter = trace.add_track({0, 1, "memory", TrackKind::counter});
  constexpr std::int64_t kSamples = 100'000, kSpike = 61'803;
  trace.add(slice_of(0, 0, kSamples * 10, "gemm"));
  for (std::int64_t i = 0; i < kSamples; ++i) trace.counters.push_back({counter, i * 10, i == kSpike ? 5.0 : 1.0});
  const Drawn drawn(trace);
  const QImage image = drawn.image();
  const QRect lane = drawn.lane("memory").where;
  std::vector<int> high;
  for (int x = Scene::kNames; x < image.width(); ++x)
    if (image.pixel(x, lane.center().y()) == Theme::light().dim_text.rgb()) high.push_back(x);
  EXPECT_THAT(high, ElementsAre(drawn.x_of(kSpike * 10)));
}

TEST(Scene, ExposedStandsOutAndWaitIsHatched) {
  Drawn drawn(two_ranks(1'000'000));
  drawn.state.has_text = false;
  const QImage image = drawn.image();
  const QRect lane = drawn.lane("dp").where;
  const auto colors = [&](double ms) {
    return colors_at(image, drawn.x_of(ms * 1e6), lane.top() + 2, lane.top() + 15);
  };
  const Theme& theme = Theme::light();
  // The first reduce-scatter: 6 ms to 10 ms; hidden until 7 ms.
  EXPECT_THAT(colors(6.3), testing::Contains(theme.hidden(Mode::dp).rgb()));
  EXPECT_THAT(colors(8.5), testing::ElementsAre(theme.exposed(Mode::dp).rgb()));
  EXPECT_THAT(colors(5), testing::ElementsAre(theme.background.rgb()));
}

// How many pixels of a line are alike, of each run of them that both ends of are seen.
std::set<int> lengths_of_runs(const QImage& image, int y, int from, int to) {
  std::set<int> lengths;
  int begin = -1;
  for (int x = from + 1; x < to; ++x) {
    if (image.pixel(x, y) == image.pixel(x - 1, y)) continue;
    if (begin >= 0) lengths.insert(x - begin);
    begin = x;
  }
  return lengths;
}

TEST(Scene, WaitForALatePeerIsHatchedWhereItIsExposed) {
  for (const int scale : {1, 2, 3}) {
    Drawn drawn(two_ranks(0));
    drawn.state.has_text = false;
    const QImage image = drawn.image(scale);
    const QRect lane = drawn.lane("dp").where;
    const int from = drawn.x_of(7.05e6, scale), to = drawn.x_of(7.45e6, scale);
    std::set<QRgb> colors;
    for (int x = from; x < to; ++x)
      colors.merge(colors_at(image, x, (lane.top() + 2) * scale, (lane.top() + 16) * scale - 1));
    EXPECT_EQ(colors.size(), 2U);
    EXPECT_THAT(colors, testing::Contains(Theme::light().exposed(Mode::dp).rgb()));
    // As wide as it is on a plain screen, in pixels of which there are more.
    EXPECT_THAT(lengths_of_runs(image, (lane.top() + 5) * scale, from, to),
                testing::UnorderedElementsAre(2 * scale, 4 * scale));
  }
}

// Without arrivals nobody knows which of it is wait: neither plain, as transfer, nor hatched, as wait.
TEST(Scene, ExposedThatIsNotSplitIsDotted) {
  Trace trace = with_streams({"dp", "compute"});
  trace.add(slice_of(0, 0, 1000, "all_reduce", communication(Mode::dp, "grads")));
  trace.add(slice_of(1, 1000, 1000, "gemm"));
  Drawn drawn(trace);
  drawn.state.has_text = false;
  const QImage image = drawn.image();
  const QRgb exposed = Theme::light().exposed(Mode::dp).rgb();
  for (const char* name : {"rank 0", "dp"}) {
    const QRect lane = drawn.lane(name).where;
    int plain_lines = 0, dotted_lines = 0;
    for (int y = lane.top() + 1; y < lane.top() + 17; ++y) {
      const std::set<int> runs = lengths_of_runs(image, y, Scene::kNames + 20, Scene::kNames + 400);
      plain_lines += runs.empty();
      dotted_lines += runs == std::set{2, 4};
      EXPECT_TRUE(image.pixel(Scene::kNames + 24, y) == exposed || image.pixel(Scene::kNames + 27, y) == exposed);
    }
    EXPECT_EQ(plain_lines + dotted_lines, 16) << name;
    EXPECT_GE(dotted_lines, 4) << name;
    EXPECT_GE(plain_lines, 10) << name;
  }
}

// As a window writes it.
TEST(Scene, NoteOfALateRankHasRoomBesideItsName) {
  QFont font = QApplication::font();
  font.setPixelSize(12);
  for (const auto& [exposed_ns, note] : std::map<std::int64_t, QString>{{9'876'000, "LATE, 9.88 ms exposed"},
                                                                        {98'760'000, "LATE, 98.8 ms exposed"},
                                                                        {987'600'000, "LATE, 988 ms exposed"},
                                                                        {9'996'000'000, "LATE, 10.0 s exposed"}}) {
    analysis::Summary summary;
    summary.ranks.emplace_back().windows.emplace_back();
    summary.ranks.front().splits.emplace_back().exposed_ns_by_modes["dp"] = exposed_ns;
    summary.ranks.front().splits.front().exposed_wait_ns = exposed_ns / 10;
    summary.waits.emplace().blamed[0][analysis::LateCause::longer_kernels] = 1;
    const std::vector<Label> words = words_of(Drawn(two_ranks(0), summary), font);
    const auto written = std::ranges::find(words, note, &Label::text);
    ASSERT_NE(written, words.end()) << note.toStdString();
    EXPECT_LE(QFontMetrics(font).horizontalAdvance(note), written->where.width()) << note.toStdString();
  }
}

TEST(Scene, RankIsMarkedAsLateIfATenthOfTheExposedTimeIsWaiting) {
  for (const std::int64_t wait_ns : {0, 99'999, 100'000}) {
    analysis::Summary summary;
    summary.ranks.emplace_back().windows.emplace_back();
    analysis::Split& split = summary.ranks.front().splits.emplace_back();
    split.exposed_ns_by_modes["dp"] = 1'000'000;
    split.exposed_wait_ns = wait_ns;
    summary.waits.emplace().blamed[0][analysis::LateCause::longer_kernels] = wait_ns;
    const Drawn drawn(two_ranks(0), summary);
    EXPECT_EQ(drawn.scene.late_rank().has_value(), wait_ns == 100'000) << wait_ns;
    const QRect strip = drawn.lane("rank 0").where;
    EXPECT_EQ(drawn.image().pixel(1, strip.center().y()) == Theme::light().worse.rgb(), wait_ns == 100'000);
  }
}

// Rank 1 is the last to come to all communication, by one part in 100 and in 5 of its duration.
TEST(Scene, MemberIsMarkedAsLateIfATenthOfTheExposedTimeIsWaiting) {
  for (const std::int64_t late_ns : {10'000, 200'000}) {
    Trace trace;
    for (std::int32_t rank = 0; rank < 2; ++rank) trace.add_track({rank, 0, "dp"});
    trace.add_group({intern("dp"), {0, 1}});
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      for (std::int64_t i = 0; i < 2; ++i) {
        const std::int64_t late = rank * late_ns;
        trace.add(slice_of(rank, i * 2'000'000 + late, 1'000'000 - late, "all_reduce",
                           communication(Mode::dp, "grad_all_reduce")),
                  {.group = 0,
                   .sequence = static_cast<std::uint64_t>(i),
                   .last_arrival_ns = i * 2'000'000 + late_ns,
                   .transfers = {}});
      }
    analysis::Summary summary = analysis::match_and_summarize(trace, {});
    const Drawn drawn(trace, std::move(summary));
    EXPECT_EQ(drawn.scene.links_of(0).late, 2U);
    EXPECT_EQ(drawn.scene.links_of(0).is_late, late_ns == 200'000);
  }
}

TEST(Scene, LegendNamesTheWaysOfExposureThatThereAre) {
  const auto content = [](const Trace& trace) {
    const Drawn drawn(trace);
    return legend_of(drawn.timeline);
  };
  const LegendContent split = content(two_ranks(0));
  EXPECT_TRUE(split.has_wait);
  EXPECT_FALSE(split.has_unsplit);
  Trace trace = with_streams({"dp"});
  trace.add(slice_of(0, 0, 1000, "all_reduce", communication(Mode::dp, "grads")));
  EXPECT_FALSE(content(trace).has_wait);
  EXPECT_TRUE(content(trace).has_unsplit);
  EXPECT_EQ(content(trace).modes, bit_of(Mode::dp));
}

// In the first half of 1000 two modes communicate, and in the second one.
TEST(Scene, TwoModesAtOnceAreBothOnTheStrip) {
  for (const bool is_hidden : {false, true})
    for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
      Trace trace = with_streams({"compute", "dp", "tp"});
      if (is_hidden) trace.add(slice_of(0, 0, 1000, "gemm"));
      trace.add(slice_of(1, 0, 1000, "all_reduce", communication(Mode::dp, "grads")));
      trace.add(slice_of(2, 0, 500, "all_gather", communication(Mode::tp, "tokens")));
      const Drawn drawn(trace);
      const QImage image = drawn.image(1, *theme);
      const QRect strip = drawn.lane("rank 0").where;
      const QRgb dp = (is_hidden ? theme->hidden(Mode::dp) : theme->exposed(Mode::dp)).rgb(),
                 tp = (is_hidden ? theme->hidden(Mode::tp) : theme->exposed(Mode::tp)).rgb();
      const auto colors_from_top_at = [&](double ns) {
        std::vector<QRgb> colors;
        for (int y = strip.top(); y <= strip.bottom(); ++y)
          if (const QRgb color = image.pixel(drawn.x_of(ns), y); colors.empty() || colors.back() != color)
            colors.push_back(color);
        return colors;
      };
      if (is_hidden) {
        EXPECT_THAT(colors_from_top_at(250), ElementsAre(tp, dp)) << "the second one above";
        EXPECT_THAT(colors_from_top_at(750), ElementsAre(dp));
      } else {
        EXPECT_THAT(colors_from_top_at(250), testing::IsSupersetOf({dp, tp}));
        EXPECT_THAT(colors_from_top_at(750),
                    testing::AllOf(testing::Contains(dp), testing::Not(testing::Contains(tp))));
      }
    }
}

// Eyes that tell no blue from blue tell light from dark.
TEST(Scene, ShardedAndPlainDataParallelismDifferInBrightness) {
  for (const Theme* theme : {&Theme::light(), &Theme::dark()})
    EXPECT_GT(std::abs(qGray(theme->exposed(Mode::dp).rgb()) - qGray(theme->exposed(Mode::fsdp).rgb())), 60);
}

TEST(Scene, LegendStandsBelowTheLanesAndTakesNoClicks) {
  Trace trace = two_ranks(0);
  for (int rank = 2; rank < 12; ++rank) trace.add(slice_of(trace.add_track({rank, 0, "compute"}), 0, 1000, "gemm"));
  Drawn drawn(trace);
  const auto colors_below = [&](const QImage& image) {
    std::set<QRgb> colors;
    for (int y = kSize.height() - Scene::kLegend; y < kSize.height(); ++y)
      for (int x = 0; x < kSize.width(); ++x) colors.insert(image.pixel(x, y));
    return colors;
  };
  const QRgb exposed = Theme::light().exposed(Mode::dp).rgb();
  EXPECT_THAT(colors_below(drawn.image()), testing::Not(testing::Contains(exposed)));
  EXPECT_TRUE(drawn.scene.hit({300, kSize.height() - 10}, kSize, drawn.state).lane.has_value());
  drawn.state.has_legend = true;
  EXPECT_THAT(colors_below(drawn.image()),
              testing::IsSupersetOf({exposed, Theme::light().hidden(Mode::dp).rgb(), Theme::light().compute.rgb()}));
  EXPECT_FALSE(drawn.scene.hit({300, kSize.height() - 10}, kSize, drawn.state).lane.has_value());
  // Modes that are not in the trace have no place in it.
  EXPECT_THAT(colors_below(drawn.image()), testing::Not(testing::Contains(Theme::light().exposed(Mode::tp).rgb())));
}

TEST(Scene, HitsTheSliceUnderTheMouse) {
  const Drawn drawn(two_ranks(0));
  const QRect lane = drawn.lane("dp").where;
  const auto hit = [&](double ms, int y) { return drawn.scene.hit({drawn.x_of(ms * 1e6), y}, kSize, drawn.state); };
  EXPECT_EQ(hit(8, lane.center().y()).slice, 1U);
  EXPECT_EQ(hit(20, lane.center().y()).slice, 3U);
  EXPECT_EQ(hit(5, lane.center().y()).slice, Timeline::kNoSlice);
  EXPECT_EQ(hit(8, 3).slice, Timeline::kNoSlice);
  const Scene::Hit name = drawn.scene.hit({10, lane.center().y()}, kSize, drawn.state);
  EXPECT_TRUE(name.is_on_name);
  ASSERT_TRUE(name.lane.has_value());
  EXPECT_EQ(drawn.timeline.lanes()[name.lane->lane].name, "dp");
}

// A hundred thousand of a nanosecond in one pixel, of which one in the middle runs without compute.
TEST(Scene, HitsWhatIsExposedAmongVeryMany) {
  constexpr std::int64_t kSlices = 100'000;
  constexpr std::uint32_t kExposed = 70'000;
  Trace trace;
  const std::uint32_t compute = trace.add_track({0, 0, "compute"}), dp = trace.add_track({0, 1, "dp"});
  for (std::int64_t i = 0; i < kSlices; ++i)
    trace.add(slice_of(dp, 2 * i, 1, "all_gather", communication(Mode::dp, "param_all_gather")));
  trace.add(slice_of(compute, 0, 2 * kExposed - 1, "gemm"));
  trace.add(slice_of(compute, 2 * kExposed + 2, 2'000'000'000, "gemm"));
  const Drawn drawn(trace);
  const QPoint first(Scene::kNames, drawn.lane("dp").where.center().y());
  EXPECT_EQ(drawn.scene.hit(first, kSize, drawn.state).slice, kExposed);
}

// In the order in which they stand in the picture, without triangles.
std::vector<std::string> names_in(const Drawn& drawn) {
  std::vector<std::string> names;
  for (const Label& label : words_of(drawn))
    if (label.where.left() < Scene::kNames && label.where.top() >= Scene::kRulers && label.text.size() > 1)
      names.push_back(label.text.toStdString());
  return names;
}

TEST(Scene, LaneOutsideOfItsRankSaysWhichThatIs) {
  Drawn drawn(two_ranks(0));
  EXPECT_THAT(names_in(drawn), ElementsAre("rank 0", "compute", "dp", "rank 1", "compute", "dp"));
  drawn.state.scroll = drawn.lane("compute").where.top() - Scene::kRulers;  // the strip has gone out of sight
  EXPECT_THAT(names_in(drawn), ElementsAre("rank 0  compute", "dp", "rank 1", "compute", "dp"));
  drawn.state.scroll = 0;
  drawn.arrangement.move(1, 4);  // below rank 1
  EXPECT_THAT(names_in(drawn), ElementsAre("rank 0", "dp", "rank 1", "compute", "dp", "rank 0  compute"));
  drawn.arrangement.move(5, -4);
  drawn.arrangement.set_pinned(5, true);
  EXPECT_THAT(names_in(drawn), testing::Contains("rank 1  dp"));
}

TEST(Scene, HitsASliverNearTheMouse) {
  std::vector<std::int64_t> slivers;
  const Drawn drawn(with_slivers(slivers));
  const int x = drawn.x_of(static_cast<double>(slivers[40]));
  for (const int off : {-2, 0, 2}) {
    const auto hit = drawn.scene.hit({x + off, drawn.lane("dp").where.center().y()}, kSize, drawn.state);
    EXPECT_NE(hit.slice, Timeline::kNoSlice) << off;
  }
}

TEST(Scene, PinnedLaneStaysWhereOthersAreScrolledAway) {
  Drawn drawn(two_ranks(0));
  drawn.arrangement.set_pinned(5, true);
  drawn.state.scroll = 1000;
  const auto placed = drawn.scene.place(kSize, drawn.state);
  ASSERT_EQ(placed.size(), 1U);
  EXPECT_EQ(drawn.timeline.lanes()[placed[0].lane].rank, 1);
  EXPECT_EQ(placed[0].where.top(), Scene::kRulers);
}

TEST(Scene, DrawsTheSameIntoAVectorFile) {
  const Drawn drawn(two_ranks(0));
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator file;
  file.setOutputDevice(&buffer);
  file.setSize(kSize);
  QPainter painter(&file);
  PainterSurface surface(painter);
  drawn.scene.draw(surface, kSize, 1, drawn.state, Palette(Theme::light()), QApplication::font());
  painter.end();
  const QString text = QString::fromUtf8(bytes);
  EXPECT_TRUE(text.contains(Theme::light().exposed(Mode::dp).name()));
  EXPECT_TRUE(text.contains("grad_reduce"));
  EXPECT_TRUE(text.contains("rank 1"));
  EXPECT_FALSE(text.contains("<image"));
}

TEST(Scene, GhostOfTheBaselineLiesBelowEachLane) {
  const Drawn before(two_ranks(0));
  Drawn drawn(two_ranks(2'000'000));
  const int height = drawn.scene.height_of_lanes();
  drawn.scene.set_ghost(Ghost{&before.timeline, 0});
  EXPECT_GT(drawn.scene.height_of_lanes(), height);
  const QImage image = drawn.image();
  const QRect lane = drawn.lane("dp").where;
  // At 10.5 ms the baseline still communicates, and the candidate no longer.
  const int x = drawn.x_of(10.5e6);
  EXPECT_EQ(image.pixel(x, lane.top() + 5), Theme::light().background.rgb());
  EXPECT_EQ(image.pixel(x, lane.bottom() - 2), Theme::light().exposed(Mode::dp).rgb());
}

}  // namespace
}  // namespace underlap::viewer
