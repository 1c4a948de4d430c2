// SPDX-License-Identifier: Apache-2.0
// Without a mouse: who has a key, and what keys reach.
#include <QComboBox>
#include <QLineEdit>
#include <QListView>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/pages/run_page.hpp"

namespace underlap::viewer {
namespace {

class Keyboard : public TraceInWindow {
 protected:
  // To whoever has the focus, as a keyboard does.
  void type(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* focused = QApplication::focusWidget();
    ASSERT_NE(focused, nullptr);
    press(focused, key, modifiers);
  }

  // F6 until a widget of that kind has the focus.
  template <class Kind>
  Kind* go_to() {
    for (int i = 0; i < 8; ++i) {
      type(Qt::Key_F6);
      if (auto* found = qobject_cast<Kind*>(QApplication::focusWidget())) return found;
    }
    return nullptr;
  }

  // The panel of that name, with its tabs and arrows.
  void show_panel(const QString& name) {
    auto* tabs = go_to<QTabBar>();
    ASSERT_NE(tabs, nullptr);
    for (int i = 0; i < tabs->count(); ++i) type(Qt::Key_Left);
    for (int i = 0; i < tabs->count() && tabs->tabText(tabs->currentIndex()) != name; ++i) type(Qt::Key_Right);
    ASSERT_EQ(tabs->tabText(tabs->currentIndex()), name);
  }
};

TEST_F(Keyboard, TablesOfATraceAreWalked) {
  show_panel("Worst exposed");
  auto* table = go_to<QTableView>();
  ASSERT_NE(table, nullptr);
  for (int i = 0; i < 3; ++i) type(Qt::Key_Down);
  EXPECT_GE(table->currentIndex().row(), 2);
  EXPECT_EQ(timeline->state().selected, Timeline::kNoSlice);
  type(Qt::Key_Return);
  EXPECT_NE(timeline->state().selected, Timeline::kNoSlice);
  EXPECT_EQ(QApplication::focusWidget(), table);  // and goes on from there
  const double before = timeline->state().ns_per_pixel;
  type(Qt::Key_W);  // a table takes no letters
  EXPECT_LT(timeline->state().ns_per_pixel, before);
  type(Qt::Key_Escape);
  EXPECT_EQ(QApplication::focusWidget(), timeline);
}

TEST_F(Keyboard, TableOfARunAndItsChartsAreWalked) {
  open(recorded_run());
  auto* run = shown<RunPage>();
  auto* table = run->findChild<QTableView*>();
  table->setFocus();
  for (int i = 0; i < 3; ++i) type(Qt::Key_Down);
  EXPECT_GE(table->currentIndex().row(), 2);
  auto* charts = go_to<QComboBox>();
  ASSERT_NE(charts, nullptr);
  type(Qt::Key_Down);
  EXPECT_EQ(charts->currentIndex(), 1);
}

TEST_F(Keyboard, StepOfAComparisonIsChosen) {
  ComparePage* comparison = compared();
  comparison->candidate()->setFocus();
  auto* step = go_to<QSpinBox>();
  ASSERT_NE(step, nullptr);
  const double begin = comparison->candidate()->state().begin_ns;
  type(Qt::Key_Up);
  EXPECT_EQ(step->value(), 2);
  EXPECT_NE(comparison->candidate()->state().begin_ns, begin);
}

TEST_F(Keyboard, LanesOfEitherSideOfAComparisonAreHiddenShownAndMoved) {
  ComparePage* comparison = compared();
  comparison->candidate()->setFocus();
  for (const bool is_baseline : {false, true}) {
    show_panel(is_baseline ? "Lanes of the baseline" : "Lanes of the candidate");
    ASSERT_NE(go_to<QListView>(), nullptr);
    const auto lane_is = [](TimelineView* of, int row) {
      return of->arrangement().lanes()[static_cast<std::size_t>(row)];
    };
    TimelineView *own = is_baseline ? comparison->baseline() : comparison->candidate(),
                 *other = is_baseline ? comparison->candidate() : comparison->baseline();
    const QJsonObject before = other->arrangement().state();
    type(Qt::Key_Home);
    type(Qt::Key_Down);
    type(Qt::Key_H);
    EXPECT_FALSE(lane_is(own, 1).is_shown);
    const std::size_t lane = lane_is(own, 1).lane;
    type(Qt::Key_Down, Qt::ControlModifier);
    EXPECT_EQ(lane_is(own, 2).lane, lane);
    EXPECT_EQ(other->arrangement().state(), before);
  }
}

TEST_F(Keyboard, EscapeLeavesTheFindField) {
  type(Qt::Key_Slash);
  auto* words = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(words, nullptr);
  QTest::keyClicks(words, "reduce");
  type(Qt::Key_Return);
  const std::uint32_t selected = timeline->state().selected;
  type(Qt::Key_Escape);
  EXPECT_EQ(timeline->state().selected, selected);  // one Esc for one thing
  for (int i = 0; i < 3; ++i) type(Qt::Key_W);
  EXPECT_EQ(words->text(), "reduce");
  type(Qt::Key_Escape);
  EXPECT_EQ(timeline->state().selected, Timeline::kNoSlice);
}

TEST_F(Keyboard, RangeIsSelectedBetweenTwoMarks) {
  type(Qt::Key_R);
  EXPECT_FALSE(timeline->state().range.has_value());
  for (const int key : {Qt::Key_E, Qt::Key_BracketLeft, Qt::Key_M, Qt::Key_BracketRight, Qt::Key_M,
                        Qt::Key_BracketRight, Qt::Key_M, Qt::Key_R})
    type(key);
  ASSERT_EQ(timeline->state().marks.size(), 3U);
  const auto [first, last] = std::minmax(timeline->state().marks[1], timeline->state().marks[2]);
  EXPECT_EQ(timeline->state().range, (TimeRange{first, last}));
  EXPECT_TRUE(wait_until([&] { return page->selected_parts().rowCount() > 0; }));
}

TEST_F(Keyboard, AnyLaneIsHiddenShownPinnedCollapsedAndMoved) {
  show_panel("Lanes");
  auto* list = go_to<QListView>();
  ASSERT_NE(list, nullptr);
  LaneArrangement& lanes = timeline->arrangement();
  const auto lane_is = [&](int row) { return lanes.lanes()[static_cast<std::size_t>(row)]; };
  type(Qt::Key_Home);
  type(Qt::Key_Down);
  ASSERT_EQ(list->currentIndex().row(), 1);
  type(Qt::Key_Space);
  EXPECT_FALSE(lane_is(1).is_shown);
  type(Qt::Key_Space);
  EXPECT_TRUE(lane_is(1).is_shown);
  type(Qt::Key_H);
  EXPECT_FALSE(lane_is(1).is_shown);
  type(Qt::Key_H);
  type(Qt::Key_C);
  EXPECT_TRUE(lane_is(1).is_collapsed);
  const std::size_t lane = lane_is(1).lane;
  type(Qt::Key_Down, Qt::ControlModifier);
  EXPECT_EQ(lane_is(2).lane, lane);
  type(Qt::Key_P);
  EXPECT_EQ(lane_is(0).lane, lane);
  EXPECT_TRUE(lane_is(0).is_pinned);
  EXPECT_EQ(list->currentIndex().row(), 0);
}

}  // namespace
}  // namespace underlap::viewer
