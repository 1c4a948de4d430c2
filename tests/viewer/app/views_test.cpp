// SPDX-License-Identifier: Apache-2.0
// What of time is seen, and the way back.
#include <QCheckBox>
#include <QHelpEvent>
#include <QToolTip>
#include <QWheelEvent>

#include <cmath>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/overview_bar.hpp"

namespace underlap::viewer {
namespace {

class Views : public TraceInWindow {
 protected:
  static std::pair<double, double> seen(const TimelineView& view) {
    return {view.state().begin_ns, view.state().ns_per_pixel};
  }

  static void turn_wheel(TimelineView* view) {
    const QPointF at(600, 200);
    QWheelEvent event(at, view->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::ControlModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view, &event);
  }
};

TEST_F(Views, BackspaceUndoesZoomingByKeys) {
  const auto all = seen(*timeline);
  for (int i = 0; i < 4; ++i) press(timeline, Qt::Key_W);
  const auto near = seen(*timeline);
  press(timeline, Qt::Key_Backspace);
  EXPECT_EQ(seen(*timeline), all);
  press(timeline, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(seen(*timeline), near);
}

TEST_F(Views, ViewOfAJumpComesBackAfterTheWheel) {
  timeline->show_range({1'000'000, 2'000'000});
  const auto jump = seen(*timeline);
  turn_wheel(timeline);
  const auto turned = seen(*timeline);
  ASSERT_NE(turned, jump);
  QTest::qWait(600);  // a pause: that view is one to come back to
  turn_wheel(timeline);
  timeline->show_range({5'000'000, 6'000'000});  // and so is the one before a jump
  const auto before_jump = [&] {
    press(timeline, Qt::Key_Backspace);
    return seen(*timeline);
  }();
  EXPECT_LT(before_jump.second, turned.second);
  press(timeline, Qt::Key_Backspace);
  EXPECT_EQ(seen(*timeline), turned);
  press(timeline, Qt::Key_Backspace);
  EXPECT_EQ(seen(*timeline), jump);
}

// One rank, two blocks of two steps of 10 ms, a second apart.
Trace two_blocks() {
  constexpr std::int64_t kMs = 1'000'000;
  Trace trace;
  const std::uint32_t compute = trace.add_track({0, 0, "compute"});
  for (std::int32_t block = 0; block < 2; ++block) {
    trace.marks.push_back({0, block, 2 * block, block * 1000 * kMs});
    for (std::int32_t step = 1; step <= 2; ++step) {
      const std::int64_t begin = (block * 1000 + (step - 1) * 10) * kMs;
      trace.add(slice_of(compute, begin, 9 * kMs, "gemm", {.step = 2 * block + step}));
      trace.marks.push_back({0, block, 2 * block + step, begin + 10 * kMs});
    }
  }
  trace.metadata["backend"] = "host";
  return trace;
}

TEST_F(Views, TraceInBlocksOpensWithTheFirst) {
  page = opened(written("blocks.pftrace", two_blocks()));
  timeline = page->timeline();
  const auto seen_ms = [&] {
    return std::pair{timeline->state().begin_ns / 1e6, timeline->state().ns_per_pixel * timeline->lanes_width() / 1e6};
  };
  EXPECT_NEAR(seen_ms().first, -0.2, 0.01);
  EXPECT_NEAR(seen_ms().second, 20.4, 0.01);
  window->resize(1000, 700);
  EXPECT_TRUE(wait_until([&] { return std::abs(seen_ms().second - 20.4) < 0.01 && window->width() == 1000; }));
  press(timeline, Qt::Key_F, Qt::ShiftModifier);
  EXPECT_GT(seen_ms().second, 1019);
}

TEST_F(Views, CtrlSelectsARangeAndTheMiddleButtonZoomsToASlice) {
  const auto all = seen(*timeline);
  drag(timeline, Qt::ControlModifier, 2e6, 9e6);
  ASSERT_TRUE(timeline->state().range.has_value());
  EXPECT_NEAR(static_cast<double>(timeline->state().range->end_ns), 9e6, 2 * timeline->state().ns_per_pixel);
  EXPECT_EQ(seen(*timeline), all);
  QTest::mouseClick(timeline, Qt::MiddleButton, Qt::NoModifier, QPoint(x_of(timeline, 2e6), 80));  // a gemm of 7 ms
  ASSERT_NE(timeline->state().selected, Timeline::kNoSlice);
  EXPECT_NEAR(timeline->state().ns_per_pixel * timeline->lanes_width(), 1.1 * 7e6, 1);
}

// The mouse stays where it is: first all of the trace lies below it, then a slice that was gone to with a key.
TEST_F(Views, KeysZoomAtTheMouseUntilTheyGoToASlice) {
  const QPoint at(timeline->width() - 100, 200);
  QTest::mouseMove(timeline, at - QPoint(5, 0));
  QTest::mouseMove(timeline, at);
  ASSERT_TRUE(wait_until([&] { return timeline->state().cursor_ns.has_value(); }));
  const auto time_at_mouse = [&] {
    return timeline->state().begin_ns + (at.x() - Scene::kNames) * timeline->state().ns_per_pixel;
  };
  timeline->show_time(10e6, 1e3);
  EXPECT_NEAR(*timeline->state().cursor_ns, time_at_mouse(), 2e3);
  const double before = time_at_mouse();
  press(timeline, Qt::Key_W);
  EXPECT_NEAR(time_at_mouse(), before, 2e3);
  timeline->fit();
  press(timeline, Qt::Key_E);
  const std::uint32_t worst = timeline->state().selected;
  ASSERT_NE(worst, Timeline::kNoSlice);
  for (int i = 0; i < 6; ++i) press(timeline, Qt::Key_W);
  const auto [begin, scale] = seen(*timeline);
  const double middle =
      0.5 * static_cast<double>(timeline->timeline().begin_ns(worst) + timeline->timeline().end_ns(worst));
  EXPECT_GE(middle, begin);
  EXPECT_LE(middle, begin + scale * timeline->lanes_width());
}

TEST_F(Views, OverviewShowsWhereTheViewIsAndMovesItThere) {
  auto* bar = page->findChild<OverviewBar*>();
  ASSERT_NE(bar, nullptr);
  const double all = bar->seen().width();
  timeline->show_time(6e6, 12e6 / timeline->lanes_width());  // a third of 36 ms
  EXPECT_NEAR(bar->seen().width(), all / 3, 0.02 * all);
  EXPECT_NEAR(bar->seen().left(), bar->x_of(6e6), 1);
  const QPoint to(static_cast<int>(bar->x_of(24e6)), bar->height() / 2);
  QTest::mouseClick(bar, Qt::LeftButton, Qt::NoModifier, to);
  EXPECT_NEAR(bar->seen().center().x(), to.x(), 1);
  EXPECT_NEAR(seen(*timeline).first, 18e6, 36e6 / timeline->lanes_width());
  EXPECT_NEAR(seen(*timeline).second, 12e6 / timeline->lanes_width(), 1);
}

// Whatever part is seen: in it at full strength, elsewhere veiled.
TEST_F(Views, OverviewShowsWhatAnyRankHasExposed) {
  auto* bar = page->findChild<OverviewBar*>();
  ASSERT_NE(bar, nullptr);
  const QImage picture = bar->grab().toImage();
  const double scale = bar->devicePixelRatioF();
  const auto has_at = [&](double time_ns, const QColor& color) {
    const int x = static_cast<int>(bar->x_of(time_ns) * scale);
    for (int y = 0; y < picture.height(); ++y)
      if (picture.pixel(x, y) == color.rgb()) return true;
    return false;
  };
  // Every step computes for 7 ms; then both ranks communicate until its 11th, and rest for one.
  for (const double step : {0.0, 12e6, 24e6}) {
    EXPECT_TRUE(has_at(step + 3e6, Theme::light().compute)) << step;
    EXPECT_TRUE(has_at(step + 9e6, Theme::light().exposed(Mode::dp))) << step;
    EXPECT_FALSE(has_at(step + 3e6, Theme::light().exposed(Mode::dp))) << step;
  }
}

TEST_F(Views, DarkWindowHasNoBrightLine) {
  window->set_dark(true);
  QTest::qWait(20);
  const QImage picture = window->grab().toImage();
  for (int y = 0; y < picture.height(); ++y) {
    int bright = 0, longest = 0;  // pixels beside each other: letters are short
    for (int x = 0; x < picture.width(); ++x) {
      bright = qGray(picture.pixel(x, y)) > 200 ? bright + 1 : 0;
      longest = std::max(longest, bright);
    }
    EXPECT_LT(longest, picture.width() / 4) << y;
  }
}

TEST_F(Views, EmptyBoxesToCheckAreSeenInBothThemes) {
  for (const bool is_dark : {false, true}) {
    window->set_dark(is_dark);
    QCheckBox box("ghost");
    const QImage picture = box.grab().toImage();
    const int surface = qGray(picture.pixel(picture.width() - 1, 0));
    int edge = 0;
    for (int x = 0; x < picture.height(); ++x)
      edge = std::max(edge, std::abs(qGray(picture.pixel(x, picture.height() / 2)) - surface));
    EXPECT_GT(edge, 40) << is_dark;
  }
}

TEST_F(Views, StripSaysUnderTheMouseWhatItsRankDoes) {
  const QPoint at(x_of(timeline, 9e6), Scene::kRulers + 12);  // the first lane is the first rank's strip
  QHelpEvent help(QEvent::ToolTip, at, timeline->mapToGlobal(at));
  QApplication::sendEvent(timeline, &help);
  EXPECT_THAT(QToolTip::text().toStdString(), testing::HasSubstr("exposed&nbsp;transfer"));
}

}  // namespace
}  // namespace underlap::viewer
