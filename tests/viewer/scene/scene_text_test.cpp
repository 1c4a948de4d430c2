// SPDX-License-Identifier: Apache-2.0
// What is written on a timeline, and whether it can be read.
#include <gmock/gmock.h>

#include "tests/viewer/scene/drawn.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/scene/rulers.hpp"

namespace underlap::viewer {
namespace {

using namespace testing_support;  // NOLINT

// A collective of 10 ms under compute for its first 6 or 4: its name is dark on pale, or white on blue.
TEST(SceneText, NameOfASliceStandsWhereItCanBeRead) {
  for (const std::int64_t hidden_ms : {6, 4}) {
    Trace trace = with_streams({"compute", "dp"});
    trace.add(slice_of(0, 0, hidden_ms * 1'000'000, "gemm"));
    trace.add(slice_of(1, 0, 10'000'000, "all_reduce", communication(Mode::dp, "grads")));
    const Drawn drawn(trace);
    const int edge = drawn.x_of(static_cast<double>(hidden_ms) * 1e6);
    const std::vector<Label> words = words_of(drawn);
    const auto name = std::ranges::find(words, QString("grads"), &Label::text);
    ASSERT_NE(name, words.end());
    const bool is_on_pale = hidden_ms == 6;
    EXPECT_EQ(name->where.right() < edge, is_on_pale);
    EXPECT_EQ(name->where.left() < edge, is_on_pale);
    EXPECT_EQ(qGray(name->color) < 128, is_on_pale);
  }
}

// Of 10 ms a fiftieth is not hidden: a sliver at one zoom, more than letters are read across at another.
TEST(SceneText, NameOfASliceGoesOnOverASliver) {
  Trace trace = with_streams({"compute", "dp"});
  for (const auto& [begin_us, end_us] : {std::pair{0, 5000}, std::pair{5200, 10'000}})
    trace.add(slice_of(0, begin_us * 1000LL, (end_us - begin_us) * 1000LL, "gemm"));
  trace.add(slice_of(1, 0, 10'000'000, "all_reduce", communication(Mode::dp, "grads")));
  Drawn drawn(trace);
  const auto room = [&](double pixels_of_sliver) {
    drawn.state.ns_per_pixel = 200'000 / pixels_of_sliver;
    const std::vector<Label> words = words_of(drawn);
    const auto name = std::ranges::find(words, QString("grads"), &Label::text);
    return name == words.end() ? 0.0 : name->where.width() * drawn.state.ns_per_pixel / 1e6;
  };
  EXPECT_GT(room(3), 9);
  EXPECT_LT(room(12), 5.1);
}

TEST(SceneText, HiddenCommunicationOfNoKnownModeIsNoGreyLikeCompute) {
  const auto blue = [](const QColor& color) { return color.blue() - (color.red() + color.green()) / 2; };
  for (const Theme* theme : {&Theme::light(), &Theme::dark()})
    EXPECT_GT(blue(theme->hidden(Mode::none)) - blue(theme->compute), 30) << theme->is_dark;
}

TEST(SceneText, RulerCountsFromTheOriginAndCutsNoNumber) {
  const Trace trace = two_ranks(0);
  Drawn drawn(trace, analysis::summarize(trace));
  // Where ticks are, and what stands at them.
  const auto ticks = [&] {
    std::map<QString, int> all;
    for (const Label& label : words_of(drawn))
      if (label.where.top() == 0 && label.text.endsWith("ms")) all[label.text] = label.where.left();
    return all;
  };
  for (double milliseconds = 20; milliseconds < 36; milliseconds += 0.1) {
    drawn.state.ns_per_pixel = milliseconds * 1e6 / (kSize.width() - Scene::kNames);
    for (const auto& [text, left] : ticks()) EXPECT_LE(left + width_of(text), kSize.width()) << text.toStdString();
  }
  const auto plain = ticks();
  drawn.state.origin_ns = 10'000'000;
  ASSERT_TRUE(plain.contains("10 ms") && plain.contains("20 ms"));
  EXPECT_EQ(ticks().at("0 ms"), plain.at("10 ms"));
  EXPECT_EQ(ticks().at("10 ms"), plain.at("20 ms"));
}

TEST(SceneText, StepIsNamedWithAsManyDigitsAsThereIsRoomFor) {
  const Trace trace = two_ranks(0);
  Drawn drawn(trace, analysis::summarize(trace));
  std::set<QString> seen;
  for (double milliseconds = 30; milliseconds < 1000; milliseconds *= 1.1) {
    drawn.state.ns_per_pixel = milliseconds * 1e6 / (kSize.width() - Scene::kNames);
    for (const Label& label : words_of(drawn)) {
      if (label.where.top() < 20 || label.where.bottom() >= Scene::kRulers || label.where.left() < Scene::kNames)
        continue;
      seen.insert(label.text);
      EXPECT_LE(width_of(label.text), label.where.width()) << label.text.toStdString();
    }
  }
  EXPECT_THAT(seen, testing::IsSupersetOf({"step 1  12.000 ms", "step 1  12.0 ms", "step 1  12 ms", "step 1", "1"}));
}

// The ruler without anything over it, and with it: what stands there is covered, not written over.
TEST(SceneText, TimeOfTheCursorAndLengthOfTheSelectionCoverTheRuler) {
  Drawn drawn(two_ranks(0));
  // What does not depend on the ground has been covered.
  const auto covered = [&] {
    const QImage dark = drawn.over(qRgb(0, 0, 0)), bright = drawn.over(qRgb(255, 255, 255));
    int pixels = 0;
    for (int y = 0; y < 20; ++y)
      for (int x = Scene::kNames; x < kSize.width(); ++x) pixels += dark.pixel(x, y) == bright.pixel(x, y);
    return pixels;
  };
  EXPECT_EQ(covered(), 0);
  drawn.state.range = TimeRange{12'000'000, 24'000'000};
  EXPECT_GT(covered(), 12 * width_of("12.000 ms"));
  drawn.state.range.reset();
  drawn.state.cursor_ns = 35e6;  // at the right end
  EXPECT_GT(covered(), 12 * width_of("35 ms"));
  EXPECT_EQ(moment_text(16.0354e6, 0.02e6).toStdString(), "16.04 ms");
  EXPECT_EQ(moment_text(16.0354e6, 10).toStdString(), "16035.40 us");
}

TEST(SceneText, LegendTellsAModeFromTheWaysOfExposure) {
  Drawn drawn(two_ranks(0));
  drawn.state.has_legend = true;
  const QImage image = drawn.image();
  const std::vector<Label> words = words_of(drawn);
  const auto swatch = [&](const char* word) {
    const auto label = std::ranges::find_if(words, [&](const Label& one) {
      return one.text == word && one.where.top() >= kSize.height() - Scene::kLegend;
    });
    std::set<QRgb> colors;
    for (int x = label->where.left() - 19; x < label->where.left() - 6; ++x)
      colors.insert(image.pixel(x, label->where.center().y()));
    return colors;
  };
  EXPECT_NE(swatch("dp"), swatch("exposed"));
  EXPECT_THAT(swatch("dp"), testing::UnorderedElementsAre(Theme::light().hidden(Mode::dp).rgb(),
                                                          Theme::light().exposed(Mode::dp).rgb()));
}

TEST(Rulers, TicksHaveRoundTimesAndTellThemApart) {
  const auto texts = [](double begin, double ns_per_pixel) {
    std::vector<std::string> all;
    for (const Tick& tick : ticks_of({.begin_ns = begin, .ns_per_pixel = ns_per_pixel, .width = 300}, 100))
      all.push_back(tick.text.toStdString());
    return all;
  };
  EXPECT_THAT(texts(0, 1e5), testing::ElementsAre("0 ms", "10 ms", "20 ms", "30 ms"));
  EXPECT_THAT(texts(1.2345e9, 10), testing::ElementsAre("1234500 us", "1234501 us", "1234502 us", "1234503 us"));
  EXPECT_THAT(texts(-1e6, 1e4), testing::ElementsAre("-1 ms", "0 ms", "1 ms", "2 ms"));
}

}  // namespace
}  // namespace underlap::viewer
