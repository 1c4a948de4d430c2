// SPDX-License-Identifier: Apache-2.0
// The window as a person uses it: keys and mouse go through Qt as they do from a keyboard.

#include <QAction>
#include <QLineEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <QThread>

#include <fstream>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/command_palette.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/viewer_settings.hpp"
#include "viewer/model/text_table_model.hpp"

namespace underlap::viewer {
namespace {

TEST_F(TraceInWindow, OpensFindsACollectiveReadsItsExposureAndSelectsARange) {
  press(timeline, Qt::Key_Slash);
  auto* words = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(words, nullptr);
  QTest::keyClicks(words, "reduce_scatter mode:dp");
  QTest::keyClick(words, Qt::Key_Return);
  EXPECT_EQ(page->found().slices().size(), 6U);
  ASSERT_NE(timeline->state().selected, Timeline::kNoSlice);
  EXPECT_EQ(value(page->facts(), "exposed", 1), "4.000 ms (100.0 %)");
  EXPECT_EQ(value(page->facts(), "exposed wait", 1), "500.000 us (12.5 %)");
  EXPECT_EQ(value(page->facts(), "would be hidden by", 1), "comm_overlap.overlap_grad_reduce");

  // A range over all of the first step, with the mouse.
  timeline->fit();
  drag(timeline, Qt::ShiftModifier, 0, 12e6);
  ASSERT_TRUE(timeline->state().range.has_value());
  EXPECT_TRUE(wait_until([&] { return page->selected_parts().rowCount() > 0; }));
  EXPECT_EQ(page->selected_parts().index(0, 0).data().toString(), "compute");
  EXPECT_NEAR(page->selected_parts().index(0, 1).data().toDouble(), 7, 0.05);
}

TEST_F(TraceInWindow, KeysZoomMoveMarkAndGoBack) {
  const double all = timeline->state().ns_per_pixel;
  press(timeline, Qt::Key_W);
  EXPECT_LT(timeline->state().ns_per_pixel, all);
  const double begin = timeline->state().begin_ns;
  press(timeline, Qt::Key_D);
  EXPECT_GT(timeline->state().begin_ns, begin);
  press(timeline, Qt::Key_A);
  EXPECT_NEAR(timeline->state().begin_ns, begin, 1);
  press(timeline, Qt::Key_M);
  EXPECT_EQ(timeline->state().marks.size(), 1U);
  press(timeline, Qt::Key_E);
  const auto worst = timeline->state().selected;
  ASSERT_NE(worst, Timeline::kNoSlice);
  press(timeline, Qt::Key_BracketRight);
  EXPECT_NE(timeline->state().selected, worst);
  press(timeline, Qt::Key_BracketLeft);
  EXPECT_EQ(timeline->state().selected, worst);
  press(timeline, Qt::Key_Right);
  EXPECT_NE(timeline->state().selected, worst);
  press(timeline, Qt::Key_Up);
  EXPECT_EQ(timeline->timeline().trace().tag(timeline->state().selected).kind, Kind::compute);
  press(timeline, Qt::Key_Escape);
  EXPECT_EQ(timeline->state().selected, Timeline::kNoSlice);
  EXPECT_TRUE(timeline->state().marks.empty());
  timeline->show_range({0, 1'000'000});
  timeline->fit();
  press(timeline, Qt::Key_Left, Qt::AltModifier);
  EXPECT_NEAR(timeline->state().ns_per_pixel * 1000, 1.1e6 * 1000 / (timeline->width() - 14 - Scene::kNames), 100);
}

TEST_F(TraceInWindow, LanesArePinnedAndStaySoTheNextTime) {
  press(timeline, Qt::Key_E);
  press(timeline, Qt::Key_P);
  EXPECT_TRUE(timeline->arrangement().lanes().front().is_pinned);
  start_again();
  TracePage* again = opened(path);
  EXPECT_TRUE(again->timeline()->arrangement().lanes().front().is_pinned);
}

TEST_F(ComparisonInWindow, IsOfOneTimeOfTheStepAndSaysWhereTheDifferenceWent) {
  EXPECT_EQ(page->candidate()->state().ns_per_pixel, page->baseline()->state().ns_per_pixel);
  page->candidate()->zoom(3);
  EXPECT_EQ(page->candidate()->state().begin_ns, page->baseline()->state().begin_ns);
  EXPECT_EQ(page->candidate()->state().ns_per_pixel, page->baseline()->state().ns_per_pixel);
  page->go_to_operation(0);
  EXPECT_NE(page->candidate()->state().selected, Timeline::kNoSlice);
  EXPECT_NE(page->baseline()->state().selected, Timeline::kNoSlice);
  page->show_as_ghost(true);
  EXPECT_FALSE(page->baseline()->isVisible());
}

TEST_F(Window, RefusesToCompareWhatIsNotComparableAndGoesOnWhereThatIsWanted) {
  Trace trace = two_ranks(0);
  trace.metadata["backend"] = "sim";
  window->compare(trace_file("host.pftrace"), written("sim.pftrace", trace));
  wait_for_reading();
  EXPECT_EQ(window->num_pages(), 0);
  for (const char* words : {"not comparable", "host.pftrace", "sim.pftrace"})
    EXPECT_THAT(window->last_error().toStdString(), testing::HasSubstr(words));
  EXPECT_THAT(window->last_error().toStdString(), testing::Not(testing::HasSubstr("--force")));
  QPushButton* go_on = nullptr;
  for (QPushButton* button : window->findChildren<QPushButton*>())
    if (button->isVisible() && button->text() == "Compare anyway") go_on = button;
  ASSERT_NE(go_on, nullptr);
  QTest::mouseClick(go_on, Qt::LeftButton);
  auto* page = shown<ComparePage>();
  EXPECT_FALSE(page->document().report.forced.empty());
}

TEST_F(Window, SaysWhatCannotBeReadAndKeepsWhatIsOpen) {
  opened(trace_file("well.pftrace"));
  EXPECT_EQ(window->num_pages(), 1);
  const fs::path broken = folder.path() / "broken.json";
  std::ofstream(broken) << "{\"traceEvents\": [{\"ph\": ";
  for (const QString& path : {text(broken), text(folder.path() / "gone.pftrace"), QString("/")}) {
    open(path);
    EXPECT_FALSE(window->last_error().isEmpty()) << path.toStdString();
    EXPECT_EQ(window->num_pages(), 1) << path.toStdString();
  }
}

TEST_F(TraceInWindow, SaysThatAFileVanishedAndKeepsWhatWasRead) {
  EXPECT_EQ(window->note().toStdString(), "");
  fs::remove(path.toStdString());
  ASSERT_TRUE(wait_until([&] { return !window->note().isEmpty(); }));
  EXPECT_EQ(window->note().toStdString(), "trace.pftrace no longer exists; the data already read is kept.");
  press(timeline, Qt::Key_E);
  EXPECT_NE(timeline->state().selected, Timeline::kNoSlice);
  press(timeline, Qt::Key_F5);
  EXPECT_EQ(shown<TracePage>(), page);
  EXPECT_THAT(window->note().toStdString(), testing::HasSubstr("trace.pftrace"));
}

TEST_F(TraceInWindow, SaysThatAFileGrewAndReadsItAgain) {
  timeline->set_marks({5});
  Trace more = two_ranks(0);
  more.add(slice_of(0, 40'000'000, 1000, "late"));
  written("trace.pftrace", more);
  ASSERT_TRUE(wait_until([&] { return !window->note().isEmpty(); }));
  EXPECT_EQ(window->note().toStdString(), "trace.pftrace changed after it was read.");
  press(timeline, Qt::Key_F5);
  const auto* again = shown<TracePage>();
  EXPECT_EQ(again->document().traced.trace.size(), more.size());
  EXPECT_EQ(window->note().toStdString(), "");
  EXPECT_EQ(window->num_pages(), 1);
  // Once more: the file that was written anew is watched as the first was.
  trace_file("trace.pftrace", 7);
  EXPECT_TRUE(wait_until([&] { return !window->note().isEmpty(); }));
}

TEST_F(TraceInWindow, FileThatIsBrokenMeanwhileLeavesWhatWasRead) {
  std::ofstream(path.toStdString()) << "no trace";
  press(timeline, Qt::Key_F5);
  EXPECT_EQ(shown<TracePage>(), page);
  EXPECT_EQ(window->note(), window->last_error());
  EXPECT_NE(window->note().toStdString(), "");
}

TEST_F(Window, WhatWasOpenOpensAgainAsItWasSeen) {
  const QString first = trace_file("first.pftrace"), second = trace_file("second.pftrace", 2'000'000);
  ASSERT_NE(opened(first), nullptr);
  TracePage* page = opened(second);
  page->timeline()->show_time(1e6, 5e3);
  page->timeline()->set_marks({3'000'000});
  compared(first, second);
  start_again();
  window->open_again();
  EXPECT_NE(shown<ComparePage>(), nullptr);
  EXPECT_EQ(window->num_pages(), 3);
  window->open(second);  // it is open: no fourth tab
  EXPECT_EQ(window->num_pages(), 3);
  const auto* again = qobject_cast<TracePage*>(window->page());
  ASSERT_NE(again, nullptr);
  EXPECT_THAT(again->shown().state().marks, testing::ElementsAre(3'000'000));
  ASSERT_TRUE(wait_until([&] { return again->shown().is_moved(); }));
  EXPECT_EQ(again->shown().state().begin_ns, 1e6);
  EXPECT_EQ(again->shown().state().ns_per_pixel, 5e3);
}

TEST_F(TraceInWindow, LaneThatIsDraggedMoves) {
  const auto order = [&] {
    std::vector<std::size_t> lanes;
    for (const ArrangedLane& row : timeline->arrangement().lanes()) lanes.push_back(row.lane);
    return lanes;
  };
  ASSERT_THAT(order(), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  const Scene scene(timeline->timeline(), page->document().traced.summary, timeline->arrangement());
  const auto middle = [&](int row) {
    for (const PlacedLane& lane : scene.layout(800, timeline->state()))
      if (lane.row == row) return QPoint(40, lane.where.center().y());
    return QPoint();
  };
  const QPoint from = middle(2), to = middle(4) + QPoint(0, 3);
  QTest::mousePress(timeline, Qt::LeftButton, Qt::NoModifier, from);
  for (int y = from.y(); y <= to.y(); y += 2) QTest::mouseMove(timeline, QPoint(40, y));
  QTest::mouseRelease(timeline, Qt::LeftButton, Qt::NoModifier, to);
  EXPECT_THAT(order(), testing::ElementsAre(0, 1, 3, 4, 2, 5));
  EXPECT_FALSE(timeline->arrangement().lanes()[4].is_collapsed);  // a drag is no click
}

TEST_F(Window, OpensATraceWithoutCommunication) {
  Trace trace = with_streams({"compute"});
  trace.add(slice_of(0, 5, 100, "gemm"));
  TracePage* page = opened(written("quiet.pftrace", trace));
  for (const int key : {Qt::Key_E, Qt::Key_BracketRight, Qt::Key_N, Qt::Key_W, Qt::Key_Up, Qt::Key_P, Qt::Key_F})
    press(page->timeline(), key);
  EXPECT_EQ(window->num_pages(), 1);
}

TEST_F(Window, RunOpensAsItsMatrixWithCharts) {
  open(recorded_run());
  auto* page = shown<RunPage>();
  EXPECT_GT(page->cells().rowCount(), 3);
  EXPECT_EQ(page->cells().index(0, 1).data().toString(), "53.21");
  // A click on a cell's name opens its trace.
  const fs::path trace = folder.path() / page->document().results.cells.front().trace_file;
  fs::create_directories(trace.parent_path());
  trace_file(page->document().results.cells.front().trace_file);
  QTableView* cells = nullptr;
  for (QTableView* table : page->findChildren<QTableView*>())
    if (table->accessibleName() == "Cells of the run") cells = table;
  ASSERT_NE(cells, nullptr);
  const QRect name = cells->visualRect(cells->model()->index(0, 0));
  QTest::mouseClick(cells->viewport(), Qt::LeftButton, Qt::NoModifier, name.center());
  EXPECT_NE(shown<TracePage>(), nullptr);
  EXPECT_EQ(window->num_pages(), 2);
  const QString chart = text(folder.path() / "modes.svg");
  page->findChild<ChartPanel*>()->save_as(chart);  // the first one
  EXPECT_GT(fs::file_size(chart.toStdString()), 1000U);
}

// With UNDERLAP_PICTURES=FOLDER it leaves what it shows there, small, for a person to look at.
TEST_F(Window, ShowsARecordedTraceInBothThemes) {
  TracePage* page = opened(UNDERLAP_RESULTS_FOLDER "/quick/paced/traces/both.pftrace.zst");
  TimelineView* timeline = page->timeline();
  press(timeline, Qt::Key_E);
  const std::int64_t begin = timeline->timeline().begin_ns(timeline->state().selected);
  for (const StepSpan& step : timeline->timeline().steps())
    if (step.begin_ns <= begin && begin < step.end_ns) timeline->show_range({step.begin_ns, step.end_ns});
  std::set<QRgb> backgrounds;
  for (const bool is_dark : {false, true}) {
    window->set_dark(is_dark);
    QTest::qWait(50);
    const QImage picture = window->grab().toImage();
    backgrounds.insert(picture.pixel(picture.width() / 2, picture.height() / 2));
    const std::string pictures = qEnvironmentVariable("UNDERLAP_PICTURES").toStdString();
    if (pictures.empty()) continue;
    const int percent = static_cast<int>(100 * window->devicePixelRatioF());
    const QString name = QString("window_%1_%2.png").arg(is_dark ? "dark" : "light").arg(percent);
    constexpr int kSmall = 900;  // pixels
    EXPECT_TRUE(picture.scaledToWidth(kSmall, Qt::SmoothTransformation).save(text(fs::path(pictures)) + "/" + name));
  }
  EXPECT_EQ(backgrounds.size(), 2U);
}

TEST_F(Window, EveryActionHasItsWordsAndPaletteFindsIt) {
  std::set<QString> words, keys;
  for (const QAction* action : window->all_actions()) {
    EXPECT_TRUE(words.insert(plain_text(*action)).second) << plain_text(*action).toStdString();
    for (const QKeySequence& shortcut : action->shortcuts())
      EXPECT_TRUE(keys.insert(shortcut.toString()).second) << shortcut.toString().toStdString();
  }
  CommandPalette palette(window->all_actions(), window.get());
  palette.words()->setText("worst");
  ASSERT_EQ(palette.shown().size(), 1);
  EXPECT_TRUE(palette.shown().front().startsWith("Worst exposed"));
}

TEST_F(Window, ShowsWhatWasReadSoFarAndThenTheWhole) {
  std::vector<std::size_t> sizes;
  std::shared_ptr<const Document> whole;
  LoadJob job("trace", [](ReadingWatch& watch) -> std::shared_ptr<const Document> {
    const Trace trace = two_ranks(0);
    Trace part;
    for (const Track& track : trace.tracks) part.add_track(track);
    for (std::size_t i = 0; i < 4; ++i) part.add(trace.slice(i));
    // As long as it takes until a part is wanted: not at once, since most traces are read by then.
    EXPECT_FALSE(watch.pause_between_parts().has_value());
    while (!watch.pause_between_parts().has_value()) QThread::msleep(5);
    watch.on_part(part);
    watch.on_progress(0.5);
    return part_of("whole", trace);
  });
  std::vector<double> progress;
  job.on_part = [&](const std::shared_ptr<const TraceDocument>& part) {
    EXPECT_TRUE(part->is_partial);
    sizes.push_back(part->traced.trace.size());
  };
  job.on_progress = [&](const QString&, double fraction) { progress.push_back(fraction); };
  job.on_done = [&](const std::shared_ptr<const Document>& document) { whole = document; };
  job.start();
  ASSERT_TRUE(wait_until([&] { return whole != nullptr; }));
  EXPECT_THAT(sizes, testing::ElementsAre(4));
  EXPECT_THAT(progress, testing::Contains(0.5));
}

TEST_F(Window, DeletedJobCancelsItsReading) {
  std::atomic<bool> was_cancelled = false;
  auto job = std::make_unique<LoadJob>("trace", [&](ReadingWatch& watch) -> std::shared_ptr<const Document> {
    while (!watch.is_cancelled()) QThread::msleep(2);
    was_cancelled = true;
    throw Cancelled();
  });
  job->on_cancelled = [] { FAIL() << "told to a window that is gone"; };
  job->start();
  job.reset();
  EXPECT_TRUE(was_cancelled);
  QTest::qWait(5);
}

TEST_F(Window, CancelledReadingLeavesNoTab) {
  window->open(trace_file("trace.pftrace"));
  auto* tabs = window->findChild<QTabWidget*>();
  const int before = tabs->count();
  emit tabs->tabCloseRequested(before - 1);
  EXPECT_EQ(tabs->count(), before - 1);
  EXPECT_FALSE(window->is_loading());
}

}  // namespace
}  // namespace underlap::viewer
