// SPDX-License-Identifier: Apache-2.0
// Tabs, what is kept of them from one time to the next, and files that change under them.
#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <QTabWidget>
#include <QTableView>

#include <fstream>
#include <map>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/command_palette.hpp"
#include "viewer/app/keys_overlay.hpp"
#include "viewer/app/pages/loading_page.hpp"
#include "viewer/app/pages/start_page.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

class Documents : public Window {
 protected:
  QTabWidget* tabs() const { return window->findChild<QTabWidget*>(); }
};

TEST_F(Documents, LastTabLeavesTheStartPageAndKeysGoRoundTheTabs) {
  for (int i = 0; i < 2; ++i) {
    press(window.get(), Qt::Key_W, Qt::ControlModifier);
    EXPECT_EQ(tabs()->count(), 1);
    EXPECT_NE(qobject_cast<StartPage*>(tabs()->currentWidget()), nullptr);
    press(window.get(), Qt::Key_Tab, Qt::ControlModifier);
  }
  opened(trace_file("a.pftrace"));
  opened(trace_file("b.pftrace"));
  EXPECT_EQ(tabs()->currentIndex(), 2);
  press(window.get(), Qt::Key_Tab, Qt::ControlModifier);
  EXPECT_EQ(tabs()->currentIndex(), 0);
  press(window.get(), Qt::Key_Backtab, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(tabs()->currentIndex(), 2);
}

TEST_F(Documents, WindowIsNamedAfterWhatItShows) {
  EXPECT_EQ(window->windowTitle(), "Underlap");
  opened(trace_file("a.pftrace"));
  EXPECT_EQ(window->windowTitle(), "a.pftrace - Underlap");
  compared(trace_file("a.pftrace"), trace_file("b.pftrace", 2'000'000));
  EXPECT_EQ(window->windowTitle(), tabs()->tabText(2) + " - Underlap");
  tabs()->setCurrentIndex(0);
  EXPECT_EQ(window->windowTitle(), "Underlap");
}

TEST_F(Documents, WhatCouldNotBeOpenedIsReadAgain) {
  const QString path = text(folder.path() / "late.pftrace");
  open(path);
  auto* failed = qobject_cast<LoadingPage*>(tabs()->currentWidget());
  ASSERT_NE(failed, nullptr);
  press(window.get(), Qt::Key_F5);
  wait_for_reading();
  EXPECT_EQ(tabs()->currentWidget(), failed);  // it is not there yet
  trace_file("late.pftrace");
  press(window.get(), Qt::Key_F5);
  EXPECT_NE(shown<TracePage>(), nullptr);
  EXPECT_EQ(tabs()->count(), 2);
}

TEST_F(Documents, FailureThatIsClosedLeavesNoTab) {
  open(text(folder.path() / "gone.pftrace"));
  press(window.get(), Qt::Key_F5);
  wait_for_reading();
  for (QPushButton* button : tabs()->currentWidget()->findChildren<QPushButton*>())
    if (button->text() == "Close") QTest::mouseClick(button, Qt::LeftButton);
  EXPECT_EQ(tabs()->count(), 1);
}

TEST_F(Documents, OverlayListsEveryActionAndEscReturnsToTheTimeline) {
  TracePage* page = opened(trace_file("a.pftrace"));
  press(page->timeline(), Qt::Key_F1);
  auto* overlay = window->findChild<KeysOverlay*>();
  ASSERT_NE(overlay, nullptr);
  EXPECT_EQ(overlay->geometry(), window->rect());
  std::map<QString, QString> listed;
  for (const KeyGroup& group : overlay->groups())
    for (const KeyLine& line : group.lines) listed[line.what] = line.keys;
  for (const QAction* action : window->all_actions())
    EXPECT_EQ(listed[plain_text(*action)], keys_text(*action)) << plain_text(*action).toStdString();
  EXPECT_TRUE(listed.contains("Zoom at the mouse position"));
  press(QApplication::focusWidget(), Qt::Key_Escape);
  EXPECT_TRUE(wait_until([&] { return window->findChild<KeysOverlay*>() == nullptr; }));
  EXPECT_EQ(QApplication::focusWidget(), page->timeline());
  // The key that shows it also hides it.
  press(page->timeline(), Qt::Key_F1);
  press(QApplication::focusWidget(), Qt::Key_F1);
  EXPECT_TRUE(wait_until([&] { return window->findChild<KeysOverlay*>() == nullptr; }));
}

TEST_F(Documents, FileOpensOnceWhateverItIsCalled) {
  const QString path = trace_file("trace.pftrace");
  fs::create_symlink(path.toStdString(), folder.path() / "link.pftrace");
  for (const QString& name : {path, text(folder.path() / "." / "trace.pftrace"), text(folder.path() / "link.pftrace"),
                              QDir::current().relativeFilePath(path)})
    opened(name);
  EXPECT_EQ(window->num_pages(), 1);
}

TEST_F(Documents, TraceAnswersFirstAndSaysWhatOfItIsLost) {
  const auto answer = [](const TracePage* page) {
    const auto* label = page->findChild<QLabel*>("answer");
    return label == nullptr ? QString() : label->text();
  };
  const QString path = trace_file("trace.pftrace");
  const TracePage* whole = opened(path);
  EXPECT_TRUE(answer(whole).startsWith("A step takes 12.00 ms")) << answer(whole).toStdString();
  EXPECT_TRUE(answer(whole).contains("all of it dp")) << answer(whole).toStdString();
  fs::copy_file(path.toStdString(), folder.path() / "cut.pftrace");
  fs::resize_file(folder.path() / "cut.pftrace", fs::file_size(path.toStdString()) - 40);
  const TracePage* cut = opened(text(folder.path() / "cut.pftrace"));
  EXPECT_TRUE(answer(cut).contains("<b>Part of the trace could not be used")) << answer(cut).toStdString();
}

TEST_F(Documents, TracesOfOneCellAreToldApartByTheirFiles) {
  Trace trace = two_ranks(0);
  trace.metadata["cell"] = "both";
  for (const char* name : {"a.pftrace", "b.pftrace"}) opened(written(name, trace));
  EXPECT_EQ(tabs()->tabText(1), "both");
  EXPECT_EQ(tabs()->tabText(2), "both (b.pftrace)");
}

// A run whose traces were compressed, or taken away, after it.
TEST_F(Documents, CellLeadsToItsTraceWhereThatIs) {
  const std::shared_ptr<RunDocument> run = open_run(recorded_run().toStdString());
  ASSERT_FALSE(run->results.cells.front().trace_file.empty());
  const fs::path file = folder.path() / run->results.cells.front().trace_file;
  EXPECT_EQ(trace_file_of(*run, 0), "");
  fs::create_directories(file.parent_path());
  std::ofstream(file.string() + ".zst") << "x";
  EXPECT_EQ(trace_file_of(*run, 0), file.string() + ".zst");
  std::ofstream(file.string()) << "x";
  EXPECT_EQ(trace_file_of(*run, 0), file.string());
}

TEST_F(Documents, FileThatComesBackIsSaidToHaveChanged) {
  const QString path = trace_file("trace.pftrace");
  opened(path);
  fs::remove(path.toStdString());
  ASSERT_TRUE(wait_until([&] { return window->note().contains("no longer exists"); }));
  trace_file("trace.pftrace", 7);
  EXPECT_TRUE(wait_until([&] { return window->note().contains("changed after"); })) << window->note().toStdString();
}

TEST_F(Documents, FitOnTheScreen) {
  const QSize room = window->screen()->availableSize();
  const MainWindow fresh;
  EXPECT_LE(fresh.width(), room.width());
  EXPECT_LE(fresh.height(), room.height());
  // Of a screen of 1920 x 1080 at 200 %.
  opened(trace_file("trace.pftrace"));
  EXPECT_LE(window->minimumSizeHint().width(), 960);
  EXPECT_LE(window->minimumSizeHint().height(), 500);
}

TEST_F(Documents, TextsOfStartAndFailureAreWhole) {
  auto* start = window->findChild<StartPage*>();
  LoadingPage failed("x");
  failed.show_failure(QString("word ").repeated(120), false);
  for (QWidget* page : {static_cast<QWidget*>(start), static_cast<QWidget*>(&failed)}) {
    page->resize(700, 500);
    page->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(page));
    for (const QLabel* label : page->findChildren<QLabel*>())
      EXPECT_TRUE(!label->wordWrap() || label->height() >= label->heightForWidth(label->width()))
          << label->text().toStdString();
  }
}

TEST_F(Documents, TabThatWasNeverLookedAtKeepsWhatWasKeptOfIt) {
  const QString first = trace_file("first.pftrace"), second = trace_file("second.pftrace", 2'000'000);
  TracePage* page = opened(first);
  page->timeline()->show_time(1e6, 5e3);
  for (int i = 0; i < 2; ++i) {
    start_again();
    window->open(first);
    open(second);
  }
  start_again();
  page = opened(first);
  ASSERT_TRUE(wait_until([&] { return page->shown().is_moved(); }));
  EXPECT_EQ(page->shown().state().begin_ns, 1e6);
  EXPECT_EQ(page->shown().state().ns_per_pixel, 5e3);
  // And one of which nothing was kept stays so.
  auto* other = opened(second);
  ASSERT_TRUE(wait_until([&] { return other->timeline()->state().ns_per_pixel > 1; }));
  EXPECT_FALSE(other->shown().is_moved());
}

TEST_F(Documents, ComparisonOpensAsItWasLeft) {
  const QString from = trace_file("before.pftrace"), to = trace_file("after.pftrace", 2'000'000);
  ComparePage* page = compared(from, to);
  page->align(1);
  page->candidate()->show_time(2e6, 4e3);
  page->baseline()->arrangement().set_shown(1, false);
  page->show_as_ghost(true);
  start_again();
  page = compared(from, to);
  ASSERT_TRUE(wait_until([&] { return page->candidate()->state().ns_per_pixel == 4e3; }));
  EXPECT_EQ(page->candidate()->state().begin_ns, 2e6);
  EXPECT_FALSE(page->baseline()->arrangement().lanes()[1].is_shown);
  EXPECT_FALSE(page->baseline()->isVisible());
}

TEST_F(ComparisonInWindow, FindsAndGoesToTheWorst) {
  press(page->candidate(), Qt::Key_E);
  const std::uint32_t worst = page->candidate()->state().selected;
  ASSERT_NE(worst, Timeline::kNoSlice);
  press(page->candidate(), Qt::Key_BracketRight);
  EXPECT_NE(page->candidate()->state().selected, worst);
  page->candidate()->clear();
  press(page->candidate(), Qt::Key_Slash);
  auto* words = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(words, nullptr);
  QTest::keyClicks(words, "gemm");
  QTest::keyClick(words, Qt::Key_Return);
  const std::uint32_t found = page->candidate()->state().selected;
  ASSERT_NE(found, Timeline::kNoSlice);
  EXPECT_NE(page->candidate()->state().found, nullptr);
  EXPECT_NE(page->baseline()->state().found, nullptr);
  page->candidate()->setFocus();
  press(page->candidate(), Qt::Key_N);
  EXPECT_NE(page->candidate()->state().selected, found);
}

// A part of what a file holds, as it is shown while the rest is read, and the whole.
TEST_F(Documents, WhoeverLooksAtAPartGoesOnLookingAtTheWhole) {
  const Trace trace = two_ranks(0);
  TracePage part(part_of("trace", trace)), whole(part_of("trace", trace));
  for (TracePage* page : {&part, &whole}) page->resize(1000, 700);
  part.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&part));
  TimelineView* before = part.timeline();
  before->select(3);
  before->set_marks({7, 9});
  before->select_range(TimeRange{1'000'000, 2'000'000});
  before->arrangement().set_pinned(2, true);
  part.search("gemm");
  before->show_time(1e6, 5e3);
  whole.going_on_from(part)();
  whole.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&whole));
  const SceneState &was = before->state(), &is = whole.shown().state();
  EXPECT_EQ(is.selected, 3U);
  EXPECT_EQ(is.marks, was.marks);
  EXPECT_EQ(is.range, was.range);
  EXPECT_EQ(is.begin_ns, 1e6);
  EXPECT_EQ(is.ns_per_pixel, 5e3);
  EXPECT_TRUE(whole.timeline()->arrangement().lanes().front().is_pinned);
  EXPECT_EQ(whole.found().slices(), part.found().slices());
  EXPECT_TRUE(wait_until([&] { return whole.selected_parts().rowCount() > 0; }));
}

TEST_F(Documents, EveryColumnOfATableIsSeen) {
  open(recorded_run());
  compared();
  for (const QTableView* table : window->findChildren<QTableView*>()) {
    const int last = table->model()->columnCount() - 1;
    if (last < 0 || !table->isVisible()) continue;
    EXPECT_LE(table->columnViewportPosition(last) + table->columnWidth(last), table->viewport()->width())
        << table->accessibleName().toStdString();
  }
}

TEST_F(Documents, OpenTraceIsComparedWithAnotherThatIsOpen) {
  const QString before = trace_file("before.pftrace"), after = trace_file("after.pftrace", 2'000'000);
  opened(before);
  TracePage* page = opened(after);
  press(page->timeline(), Qt::Key_D, Qt::ControlModifier);
  EXPECT_THAT(confirm_pair(), testing::ElementsAre(QFileInfo(before).canonicalFilePath()));
  auto* comparison = shown<ComparePage>();
  EXPECT_EQ(QString::fromStdString(comparison->document().from->path), QFileInfo(before).canonicalFilePath());
}

// However many settings differ, there is room for what they did.
TEST_F(Documents, SettingsThatDifferAreAPanelOfAComparison) {
  constexpr int kSettings = 40;
  const auto with_knobs = [&](const char* value) {
    Trace trace = two_ranks(0);
    std::string knobs;
    for (int i = 0; i < kSettings; ++i)
      knobs += std::string(i == 0 ? "{" : ", ") + "\"knob_" + std::to_string(i) + "\": \"" + value + "\"";
    trace.metadata["knobs"] = knobs + "}";
    return written(std::string(value) + ".pftrace", trace);
  };
  ComparePage* page = compared(with_knobs("off"), with_knobs("on"));
  ASSERT_EQ(page->settings().rowCount(), kSettings);
  EXPECT_EQ(page->settings().index(0, 0).data().toString(), "knob_0");
  EXPECT_EQ(page->settings().index(0, 1).data().toString(), "on, was off");
  EXPECT_GT(page->candidate()->height(), window->height() / 5);
}

}  // namespace
}  // namespace underlap::viewer
