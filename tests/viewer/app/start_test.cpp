// SPDX-License-Identifier: Apache-2.0
// How a user opens something: the start page, dropped files, the dialog for two sides, a run from its traces.
#include <QAction>
#include <QDialogButtonBox>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QTabWidget>
#include <QToolButton>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/command_palette.hpp"
#include "viewer/app/example_job.hpp"
#include "viewer/app/pages/gate_page.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/pages/start_page.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

class Start : public Window {
 protected:
  StartPage* start() { return window->findChild<StartPage*>(); }

  QPushButton* button(const QString& words) {
    for (auto* found : start()->findChildren<QPushButton*>())
      if (found->text().remove('&') == words) return found;
    return nullptr;
  }

  // The texts of the labels that hold `words`.
  QStringList labels_with(const QString& words) {
    QStringList found;
    for (const QLabel* label : start()->findChildren<QLabel*>())
      if (label->text().contains(words)) found << label->text();
    return found;
  }

  // As a file manager drops files on a widget of the window.
  void drop(QWidget* on, const QStringList& paths) {
    QMimeData files;
    QList<QUrl> urls;
    for (const QString& path : paths) urls << QUrl::fromLocalFile(path);
    files.setUrls(urls);
    QDragEnterEvent enter({5, 5}, Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(on, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent dropped({5, 5}, Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(on, &dropped);
    wait_for_reading();
  }
};

TEST_F(Start, ExampleOpensWithAClickAndIsLabeled) {
  ASSERT_NE(start()->findChild<QPushButton*>("example"), nullptr);
  EXPECT_EQ(labels_with(kExampleJob).size(), 1);
  start()->findChild<QPushButton*>("example")->click();
  auto* page = shown<RunPage>();
  EXPECT_TRUE(page->summary().contains("backend cuda; link emulated")) << page->summary().toStdString();
  for (std::size_t cell = 0; cell < page->document().results.cells.size(); ++cell)
    EXPECT_NE(trace_file_of(page->document(), cell), "");
  opened(QString::fromStdString(trace_file_of(page->document(), 1)));
  EXPECT_EQ(write_example_job(), QString::fromStdString(page->document().path));
}

TEST_F(Start, RecentFilesOpenAndMissingOnesAreRemoved) {
  const QString kept = trace_file("kept.pftrace"), gone = trace_file("gone.pftrace");
  for (const QString& path : {kept, gone}) opened(path);
  fs::remove(gone.toStdString());
  start_again();
  ASSERT_EQ(labels_with("gone.pftrace").size(), 1);
  EXPECT_TRUE(labels_with("gone.pftrace").front().endsWith("(missing)"));
  auto* remove = start()->findChild<QToolButton*>();
  ASSERT_NE(remove, nullptr);
  remove->click();
  EXPECT_TRUE(wait_until([&] { return labels_with("gone.pftrace").isEmpty(); }));
  EXPECT_THAT(recent_paths(), testing::ElementsAre(QFileInfo(kept).canonicalFilePath()));
  for (QLabel* label : start()->findChildren<QLabel*>())
    if (label->text().contains("kept.pftrace")) emit label->linkActivated("#");
  EXPECT_NE(shown<TracePage>(), nullptr);
}

// Later: what was opened after the page was made.
TEST_F(Start, RecentFilesAreListedWhenThePageIsShownAgain) {
  opened(trace_file("later.pftrace"));
  EXPECT_TRUE(labels_with("later.pftrace").isEmpty());
  window->findChild<QTabWidget*>()->setCurrentWidget(start());
  EXPECT_EQ(labels_with("later.pftrace").size(), 1);
}

TEST_F(Start, MainKeysAreThoseOfTheirActions) {
  for (const char* key : {"W", "S", "E", "M"}) {
    const auto has_key = [&](const QAction* action) { return action->shortcuts().contains(QKeySequence(key)); };
    const auto action = std::ranges::find_if(window->all_actions(), has_key);
    ASSERT_NE(action, window->all_actions().end()) << key;
    EXPECT_THAT(labels_with(plain_text(**action)), testing::Contains(plain_text(**action)));
    EXPECT_THAT(labels_with(keys_text(**action)), testing::Contains(keys_text(**action)));
  }
}

TEST_F(Start, ButtonsCompareAndCheckTwoPaths) {
  const QString before = trace_file("before.pftrace"), after = trace_file("after.pftrace", 2'000'000);
  for (const char* words : {"Compare...", "Check against baseline..."}) {
    ASSERT_NE(button(words), nullptr) << words;
    window->findChild<QTabWidget*>()->setCurrentWidget(start());
    button(words)->click();
    const auto* ok = pair_dialog().findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
    EXPECT_FALSE(ok->isEnabled());
    pair_dialog().baseline()->setCurrentText(before);
    EXPECT_FALSE(ok->isEnabled());
    pair_dialog().candidate()->setCurrentText(QUrl::fromLocalFile(after).toString());
    EXPECT_TRUE(ok->isEnabled());
    confirm_pair();
    wait_for_reading();
  }
  EXPECT_NE(window->findChild<ComparePage*>(), nullptr);
  EXPECT_NE(window->findChild<GatePage*>(), nullptr);
  EXPECT_NE(button("Open file..."), nullptr);
  EXPECT_NE(button("Open folder..."), nullptr);
}

TEST_F(Start, DroppedFileOpensAndTwoAreCompared) {
  const QString before = trace_file("before.pftrace"), after = trace_file("after.pftrace", 2'000'000);
  fs::last_write_time(before.toStdString(), fs::last_write_time(after.toStdString()) - std::chrono::hours(1));
  drop(start(), {before});
  TracePage* page = shown<TracePage>();
  EXPECT_EQ(window->num_pages(), 1);
  page->find();  // a field would take the names of files as text
  drop(page->findChild<QLineEdit*>(), {after, before});
  const ComparePage* comparison = shown<ComparePage>();
  EXPECT_EQ(comparison->document().from->path, QFileInfo(before).canonicalFilePath().toStdString());
  EXPECT_EQ(page->findChild<QLineEdit*>()->text(), "");
  EXPECT_EQ(window->num_pages(), 2);
  const QString third = trace_file("third.pftrace");
  drop(window.get(), {before, after, third});
  EXPECT_EQ(window->num_pages(), 4);
}

TEST_F(Start, FolderOfSeveralRunsIsRefusedWithoutAnOption) {
  make_sized_run(folder.path() / "series/run-00", 2);
  open(text(folder.path() / "series"));
  EXPECT_TRUE(window->last_error().contains("choose it as a baseline")) << window->last_error().toStdString();
  EXPECT_FALSE(window->last_error().contains("--"));
}

TEST_F(Start, TracesOfARunOfferTheRun) {
  const QString run = recorded_run();
  fs::create_directories(folder.path() / "traces");
  trace_file("traces/00-off.pftrace");
  open(run + "/traces");
  EXPECT_TRUE(window->note().contains("traces of a run")) << window->note().toStdString();
  const auto* offer = window->findChild<QPushButton*>("offer");
  ASSERT_NE(offer, nullptr);
  EXPECT_EQ(offer->text(), "&Open the run");
  QTest::mouseClick(const_cast<QPushButton*>(offer), Qt::LeftButton);
  EXPECT_EQ(QString::fromStdString(shown<RunPage>()->document().path), QFileInfo(run).canonicalFilePath());
  EXPECT_EQ(window->note(), "");
  opened(run + "/traces/00-off.pftrace");
  EXPECT_EQ(window->note(), "");
}

}  // namespace
}  // namespace underlap::viewer
