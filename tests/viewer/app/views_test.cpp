// SPDX-License-Identifier: Apache-2.0
// What of time is seen, and the way back.
#include <QWheelEvent>

#include "tests/viewer/app/window_fixture.hpp"

namespace underlap::viewer {
namespace {

class Views : public Window {
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
  TracePage* page = opened(trace_file("trace.pftrace"));
  ASSERT_NE(page, nullptr);
  TimelineView* timeline = page->timeline();
  const auto all = seen(*timeline);
  for (int i = 0; i < 4; ++i) press(timeline, Qt::Key_W);
  const auto near = seen(*timeline);
  press(timeline, Qt::Key_Backspace);
  EXPECT_EQ(seen(*timeline), all);
  press(timeline, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(seen(*timeline), near);
}

TEST_F(Views, ViewOfAJumpComesBackAfterTheWheel) {
  TracePage* page = opened(trace_file("trace.pftrace"));
  ASSERT_NE(page, nullptr);
  TimelineView* timeline = page->timeline();
  timeline->show_range(1'000'000, 2'000'000);
  const auto jump = seen(*timeline);
  turn_wheel(timeline);
  const auto turned = seen(*timeline);
  ASSERT_NE(turned, jump);
  QTest::qWait(600);  // a pause: that view is one to come back to
  turn_wheel(timeline);
  timeline->show_range(5'000'000, 6'000'000);  // and so is the one before a jump
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

}  // namespace
}  // namespace underlap::viewer
