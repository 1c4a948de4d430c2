// SPDX-License-Identifier: Apache-2.0
// The window as a person uses it: keys and mouse go through Qt as they do from a keyboard.
#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QThread>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "tests/viewer/app/window_fixture.hpp"
#include "tests/viewer/small_runs.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/command_palette.hpp"
#include "viewer/app/load_job.hpp"
#include "viewer/app/pages/compare_page.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/settings.hpp"
#include "viewer/timeline/selection.hpp"

namespace underlap::viewer {
namespace {

TEST_F(Window, OpensFindsACollectiveReadsItsExposureAndSelectsARange) {
  TracePage* page = opened(trace_file("trace.pftrace"));
  ASSERT_NE(page, nullptr);
  TimelineView* timeline = page->timeline();

  press(timeline, Qt::Key_Slash);
  auto* words = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(words, nullptr);
  QTest::keyClicks(words, "reduce_scatter mode:dp");
  QTest::keyClick(words, Qt::Key_Return);
  EXPECT_EQ(page->found().slices().size(), 6U);
  ASSERT_NE(timeline->state().selected, Timeline::kNoSlice);
  EXPECT_EQ(fact(*page, "exposed"), "4.000 ms (100.0 %)");
  EXPECT_EQ(fact(*page, "exposed wait"), "500.000 us (12.5 %)");
  EXPECT_EQ(fact(*page, "would be hidden by"), "comm_overlap.overlap_grad_reduce");

  // A range over all of the first step, with the mouse.
  timeline->fit();
  const auto x_of = [&](double ns) {
    return Scene::kNames + static_cast<int>((ns - timeline->state().begin_ns) / timeline->state().ns_per_pixel);
  };
  QTest::mousePress(timeline, Qt::LeftButton, Qt::ShiftModifier, QPoint(x_of(0), 200));
  QTest::mouseMove(timeline, QPoint(x_of(5e6), 200));
  QTest::mouseMove(timeline, QPoint(x_of(12e6), 200));
  QTest::mouseRelease(timeline, Qt::LeftButton, Qt::ShiftModifier, QPoint(x_of(12e6), 200));
  ASSERT_TRUE(timeline->state().range.has_value());
  EXPECT_TRUE(wait_until([&] { return page->selected_parts().rowCount() > 0; }));
  EXPECT_EQ(page->selected_parts().index(0, 0).data().toString(), "compute");
  EXPECT_NEAR(page->selected_parts().index(0, 1).data().toDouble(), 7, 0.05);
}

TEST_F(Window, FiguresOfItsPanelsAreThoseOfTheAnalysis) {
  TracePage* page = opened(trace_file("trace.pftrace"));
  ASSERT_NE(page, nullptr);
  const auto json =
      nlohmann::json::parse(analysis::analysis_json(page->document().traced.trace, page->document().traced.summary));
  for (const auto& rank : json["ranks"]) {
    // All measured steps of the rank, selected to the nanosecond.
    std::int64_t begin = INT64_MAX, end = 0;
    for (const StepSpan& step : page->document().timeline->steps())
      if (step.rank == rank["rank"].get<int>()) {
        begin = std::min(begin, step.begin_ns);
        end = std::max(end, step.end_ns);
      }
    const Selection selection = viewer::select(*page->document().timeline, begin, end, {rank["rank"].get<int>()});
    ASSERT_EQ(selection.ranks.size(), 1U);
    EXPECT_DOUBLE_EQ(static_cast<double>(selection.ranks[0].split.exposed_ns()) / 1e3,
                     rank["exposed_us"].get<double>());
    EXPECT_DOUBLE_EQ(static_cast<double>(selection.ranks[0].split.comm_ns()) / 1e3, rank["comm_us"].get<double>());
    EXPECT_DOUBLE_EQ(static_cast<double>(selection.ranks[0].split.compute_ns()) / 1e3,
                     rank["compute_us"].get<double>());
    EXPECT_DOUBLE_EQ(static_cast<double>(selection.ranks[0].split.exposed_wait_ns) / 1e3,
                     rank["exposed_wait_us"].get<double>());
  }
}

TEST_F(Window, KeysZoomMoveMarkAndGoBack) {
  TracePage* page = opened(trace_file("trace.pftrace"));
  ASSERT_NE(page, nullptr);
  TimelineView* timeline = page->timeline();
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
  timeline->show_range(0, 1'000'000);
  timeline->fit();
  press(timeline, Qt::Key_Left, Qt::AltModifier);
  EXPECT_NEAR(timeline->state().ns_per_pixel * 1000, 1.1e6 * 1000 / (timeline->width() - 14 - Scene::kNames), 100);
}

TEST_F(Window, LanesArePinnedAndStaySoTheNextTime) {
  const QString path = trace_file("trace.pftrace");
  TracePage* page = opened(path);
  ASSERT_NE(page, nullptr);
  press(page->timeline(), Qt::Key_E);
  press(page->timeline(), Qt::Key_P);
  EXPECT_TRUE(page->timeline()->arrangement().lanes().front().is_pinned);
  window->close();
  window = std::make_unique<MainWindow>();
  window->show();
  TracePage* again = opened(path);
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(again->timeline()->arrangement().lanes().front().is_pinned);
}

TEST_F(Window, ComparesTwoTracesAtOneTimeOfTheStepAndSaysWhereTheDifferenceWent) {
  window->compare(trace_file("before.pftrace"), trace_file("after.pftrace", 2'000'000));
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); })) << window->last_error().toStdString();
  auto* page = qobject_cast<ComparePage*>(window->page());
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
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
  const fs::path other = folder.path() / "sim.pftrace";
  Trace trace = testing_support::two_ranks(0);
  trace.metadata["backend"] = "sim";
  formats::write_trace(other, trace);
  window->compare(trace_file("host.pftrace"), text(other));
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  EXPECT_EQ(window->num_pages(), 0);
  EXPECT_THAT(window->last_error().toStdString(), testing::HasSubstr("sim"));
  EXPECT_THAT(window->last_error().toStdString(), testing::Not(testing::HasSubstr("--force")));
  QPushButton* go_on = nullptr;
  for (QPushButton* button : window->findChildren<QPushButton*>())
    if (button->isVisible() && button->text() == "Compare all the same") go_on = button;
  ASSERT_NE(go_on, nullptr);
  QTest::mouseClick(go_on, Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  auto* page = qobject_cast<ComparePage*>(window->page());
  ASSERT_NE(page, nullptr);
  EXPECT_FALSE(page->document().report.forced.empty());
}

TEST_F(Window, SaysWhatCannotBeReadAndKeepsWhatIsOpen) {
  opened(trace_file("well.pftrace"));
  EXPECT_EQ(window->num_pages(), 1);
  const fs::path broken = folder.path() / "broken.json";
  std::ofstream(broken) << "{\"traceEvents\": [{\"ph\": ";
  for (const QString& path : {text(broken), text(folder.path() / "gone.pftrace"), QString("/")}) {
    window->open(path);
    ASSERT_TRUE(wait_until([&] { return !window->is_loading(); })) << path.toStdString();
    EXPECT_FALSE(window->last_error().isEmpty()) << path.toStdString();
    EXPECT_EQ(window->num_pages(), 1) << path.toStdString();
  }
}

TEST_F(Window, SaysThatAFileVanishedAndKeepsWhatWasRead) {
  const QString path = trace_file("trace.pftrace");
  TracePage* page = opened(path);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(window->note().toStdString(), "");
  fs::remove(path.toStdString());
  ASSERT_TRUE(wait_until([&] { return !window->note().isEmpty(); }));
  EXPECT_EQ(window->note().toStdString(), "trace.pftrace is no longer there; what was read of it stays.");
  press(page->timeline(), Qt::Key_E);
  EXPECT_NE(page->timeline()->state().selected, Timeline::kNoSlice);
  press(page->timeline(), Qt::Key_F5);
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  EXPECT_EQ(window->page(), page);
  EXPECT_THAT(window->note().toStdString(), testing::HasSubstr("trace.pftrace"));
}

TEST_F(Window, SaysThatAFileGrewAndReadsItAgain) {
  const QString path = trace_file("trace.pftrace");
  TracePage* page = opened(path);
  ASSERT_NE(page, nullptr);
  page->timeline()->set_marks({5});
  Trace more = testing_support::two_ranks(0);
  more.add(testing_support::slice_of(0, 40'000'000, 1000, "late"));
  formats::write_trace(fs::path(path.toStdString()), more);
  ASSERT_TRUE(wait_until([&] { return !window->note().isEmpty(); }));
  EXPECT_EQ(window->note().toStdString(), "trace.pftrace has changed since it was read.");
  press(page->timeline(), Qt::Key_F5);
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  const auto* again = qobject_cast<TracePage*>(window->page());
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->document().traced.trace.size(), more.size());
  EXPECT_EQ(window->note().toStdString(), "");
  EXPECT_EQ(window->num_pages(), 1);
  // Once more: the file that was written anew is watched as the first was.
  formats::write_trace(fs::path(path.toStdString()), testing_support::two_ranks(7));
  EXPECT_TRUE(wait_until([&] { return !window->note().isEmpty(); }));
}

TEST_F(Window, FileThatIsBrokenMeanwhileLeavesWhatWasRead) {
  const QString path = trace_file("trace.pftrace");
  TracePage* page = opened(path);
  ASSERT_NE(page, nullptr);
  std::ofstream(path.toStdString()) << "no trace";
  press(page->timeline(), Qt::Key_F5);
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  EXPECT_EQ(window->page(), page);
  EXPECT_EQ(window->note(), window->last_error());
  EXPECT_NE(window->note().toStdString(), "");
}

TEST_F(Window, WhatWasOpenOpensAgainAsItWasSeen) {
  const QString first = trace_file("first.pftrace"), second = trace_file("second.pftrace", 2'000'000);
  ASSERT_NE(opened(first), nullptr);
  TracePage* page = opened(second);
  ASSERT_NE(page, nullptr);
  page->timeline()->show_time(1e6, 5e3);
  page->timeline()->set_marks({3'000'000});
  window->compare(first, second);
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  window->close();

  window = std::make_unique<MainWindow>();
  window->show();
  window->open_again();
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  EXPECT_EQ(window->num_pages(), 3);
  EXPECT_NE(qobject_cast<ComparePage*>(window->page()), nullptr);
  window->open(second);  // it is open: no fourth tab
  EXPECT_EQ(window->num_pages(), 3);
  const auto* again = qobject_cast<TracePage*>(window->page());
  ASSERT_NE(again, nullptr);
  EXPECT_THAT(again->shown().state().marks, testing::ElementsAre(3'000'000));
  ASSERT_TRUE(wait_until([&] { return again->shown().is_moved(); }));
  EXPECT_EQ(again->shown().state().begin_ns, 1e6);
  EXPECT_EQ(again->shown().state().ns_per_pixel, 5e3);
}

TEST_F(Window, LaneThatIsDraggedMoves) {
  TracePage* page = opened(trace_file("trace.pftrace"));
  ASSERT_NE(page, nullptr);
  TimelineView* timeline = page->timeline();
  const auto names = [&] {
    std::vector<std::string> all;
    for (int row = 0; row < timeline->arrangement().rowCount(); ++row)
      all.push_back(timeline->arrangement().index(row).data().toString().toStdString());
    return all;
  };
  ASSERT_THAT(names(),
              testing::ElementsAre("rank 0", "rank 0 compute", "rank 0 dp", "rank 1", "rank 1 compute", "rank 1 dp"));
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
  EXPECT_THAT(names(),
              testing::ElementsAre("rank 0", "rank 0 compute", "rank 1", "rank 1 compute", "rank 0 dp", "rank 1 dp"));
  EXPECT_FALSE(timeline->arrangement().lanes()[4].is_collapsed);  // a drag is no click
}

TEST_F(Window, OpensATraceWithoutCommunication) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add(testing_support::slice_of(0, 5, 100, "gemm"));
  const fs::path file = folder.path() / "quiet.pftrace";
  formats::write_trace(file, trace);
  TracePage* page = opened(text(file));
  ASSERT_NE(page, nullptr);
  for (const int key : {Qt::Key_E, Qt::Key_BracketRight, Qt::Key_N, Qt::Key_W, Qt::Key_Up, Qt::Key_P, Qt::Key_F})
    press(page->timeline(), key);
  EXPECT_EQ(window->num_pages(), 1);
}

TEST_F(Window, RunOpensAsItsMatrixWithCharts) {
  testing_support::copy_recorded_run(folder.path());
  window->open(text(folder.path()));
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  auto* page = qobject_cast<RunPage*>(window->page());
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  EXPECT_GT(page->matrix().rowCount(), 3);
  EXPECT_NEAR(page->matrix().index(0, 1).data().toDouble(), 53.2, 0.1);
  // A click on a cell's name opens its trace.
  const fs::path trace = folder.path() / page->document().results.cells.front().trace_file;
  fs::create_directories(trace.parent_path());
  formats::write_trace(trace, testing_support::two_ranks(0));
  auto* cells = page->findChild<QTableView*>();
  const QRect name = cells->visualRect(cells->model()->index(0, 0));
  QTest::mouseClick(cells->viewport(), Qt::LeftButton, Qt::NoModifier, name.center());
  ASSERT_TRUE(wait_until([&] { return !window->is_loading(); }));
  EXPECT_NE(qobject_cast<TracePage*>(window->page()), nullptr) << window->last_error().toStdString();
  EXPECT_EQ(window->num_pages(), 2);
  const QString chart = text(folder.path() / "modes.svg");
  page->charts().show_chart("modes");
  page->charts().save_as(chart);
  EXPECT_GT(fs::file_size(chart.toStdString()), 1000U);
}

// With UNDERLAP_PICTURES=FOLDER it leaves what it shows there, small, for a person to look at.
TEST_F(Window, ShowsARecordedTraceInBothThemes) {
  TracePage* page = opened(UNDERLAP_RESULTS_FOLDER "/quick/paced/traces/both.pftrace.zst");
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  TimelineView* timeline = page->timeline();
  press(timeline, Qt::Key_E);
  const std::int64_t begin = timeline->timeline().begin_ns(timeline->state().selected);
  for (const StepSpan& step : timeline->timeline().steps())
    if (step.begin_ns <= begin && begin < step.end_ns) timeline->show_range(step.begin_ns, step.end_ns);
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
    const Trace trace = testing_support::two_ranks(0);
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
