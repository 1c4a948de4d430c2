// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <QApplication>
#include <QComboBox>
#include <QSettings>
#include <QTest>
#include <stdexcept>

#include "platform/temporary_folder.hpp"
#include "profiler/formats/format.hpp"
#include "tests/viewer/small_runs.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/pages/compare_page.hpp"
#include "viewer/app/pages/trace_page.hpp"
#include "viewer/app/pair_dialog.hpp"

namespace underlap::viewer {

namespace fs = std::filesystem;
using namespace testing_support;  // NOLINT

/// A window of its own for each test, with settings that nobody else has.
class Window : public testing::Test {
 protected:
  Window() {
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, text(folder.path() / "settings"));
    qputenv("XDG_CACHE_HOME", (folder.path() / "cache").c_str());
    start_again();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
  }

  void start_again() {
    if (window != nullptr) window->close();
    window = std::make_unique<MainWindow>();
    window->resize(1280, 860);
    window->show();
  }

  static QString text(const fs::path& path) { return QString::fromStdString(path.string()); }

  QString written(const std::string& name, const Trace& trace) {
    const fs::path file = folder.path() / name;
    formats::write_trace(file, trace);
    return text(file);
  }

  // Written as a run writes it, early_ns as two_ranks() has it.
  QString trace_file(const std::string& name, std::int64_t early_ns = 0) { return written(name, two_ranks(early_ns)); }

  // A recorded run without its traces.
  QString recorded_run() {
    copy_recorded_run(folder.path());
    return text(folder.path());
  }

  bool wait_until(const std::function<bool()>& is_so) { return QTest::qWaitFor(is_so, 20'000); }

  void wait_for_reading() {
    EXPECT_TRUE(wait_until([&] { return !window->is_loading(); })) << window->last_error().toStdString();
  }

  // The page that is shown after everything is read. Throws if it is of another kind: the test fails then.
  template <class Page>
  Page* shown() {
    wait_for_reading();
    auto* page = qobject_cast<Page*>(window->page());
    if (page == nullptr) throw std::runtime_error("another page: " + window->last_error().toStdString());
    return page;
  }

  void open(const QString& path) {
    window->open(path);
    wait_for_reading();
  }

  TracePage* opened(const QString& path) {
    open(path);
    auto* page = shown<TracePage>();
    page->timeline()->setFocus();
    return page;
  }

  ComparePage* compared(const QString& baseline, const QString& candidate) {
    window->compare(baseline, candidate);
    return shown<ComparePage>();
  }

  // In the candidate communication begins 2 ms earlier, under compute.
  ComparePage* compared() { return compared(trace_file("before.pftrace"), trace_file("after.pftrace", 2'000'000)); }

  static std::string value(const QAbstractItemModel& model, const std::string& row, int column) {
    for (int i = 0; i < model.rowCount(); ++i)
      if (model.index(i, 0).data().toString().trimmed().toStdString() == row)
        return model.index(i, column).data().toString().toStdString();
    return "no row";
  }

  void press(QWidget* widget, int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(widget, static_cast<Qt::Key>(key), modifiers);
    QTest::qWait(1);
  }

  // The dialog that asks for a baseline and a candidate. Throws if there is none: the test fails then.
  PairDialog& pair_dialog() {
    for (PairDialog* dialog : window->findChildren<PairDialog*>())
      if (dialog->isVisible()) return *dialog;
    throw std::runtime_error("no dialog for two sides");
  }

  // Confirms it. Returns the paths that it offered as a baseline.
  QStringList confirm_pair() {
    PairDialog& dialog = pair_dialog();
    QStringList offered;
    for (int i = 0; i < dialog.baseline()->count(); ++i) offered << dialog.baseline()->itemText(i);
    QTest::keyClick(&dialog, Qt::Key_Return);
    return offered;
  }

  static int x_of(const TimelineView* view, double ns) {
    return Scene::kNames + static_cast<int>((ns - view->state().begin_ns) / view->state().ns_per_pixel);
  }

  // With the mouse, from one time to another.
  static void drag(TimelineView* view, Qt::KeyboardModifiers modifiers, double from_ns, double to_ns) {
    constexpr int kY = 80;
    QTest::mousePress(view, Qt::LeftButton, modifiers, QPoint(x_of(view, from_ns), kY));
    for (const double ns : {0.5 * (from_ns + to_ns), to_ns}) QTest::mouseMove(view, QPoint(x_of(view, ns), kY));
    QTest::mouseRelease(view, Qt::LeftButton, modifiers, QPoint(x_of(view, to_ns), kY));
  }

  TemporaryFolder folder;
  std::unique_ptr<MainWindow> window;
};

/// A window that shows a trace of two_ranks(0).
class TraceInWindow : public Window {
 protected:
  void SetUp() override {
    page = opened(path);
    timeline = page->timeline();
  }

  const QString path = trace_file("trace.pftrace");
  TracePage* page = nullptr;
  TimelineView* timeline = nullptr;
};

/// A window that compares two_ranks(0) with a trace in which communication begins 2 ms earlier, under compute.
class ComparisonInWindow : public Window {
 protected:
  void SetUp() override { page = compared(); }

  ComparePage* page = nullptr;
};

}  // namespace underlap::viewer
