// SPDX-License-Identifier: Apache-2.0
// Modes of parallelism that a user assigns in a window.
#include <QAction>
#include <QFileDialog>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>

#include <fstream>

#include "platform/input/input_file.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

constexpr const char* kComments = "# by hand\nrules:\n  - {group: \"red\", mode: ep}\n";

class Modes : public Window {
 protected:
  void SetUp() override {
    page = opened(path);
    keep_mode_map(QString::fromStdString(page->document().path), map);
  }

  Mode mode_of(std::uint32_t slice) const { return page->document().traced.trace.tag(slice).mode; }

  // Chooses an action of the menu of a slice, and waits until the trace was read again.
  void choose(std::uint32_t slice, const std::string& target, const std::string& mode) {
    QMenu menu;
    page->modes().fill_menu(menu, slice);
    for (QAction* action : menu.actions())
      if (action->text().toStdString().find(target) != std::string::npos) {
        if (action->menu() == nullptr) return trigger(action);
        for (QAction* word : action->menu()->actions())
          if (word->text().toStdString() == mode) return trigger(word);
      }
    FAIL() << "no action for " << target << " and " << mode;
  }

  void trigger(QAction* action) {
    const TracePage* before = page;
    action->trigger();
    ASSERT_TRUE(wait_until([&] { return !window->is_loading() && window->page() != before; }));
    page = shown<TracePage>();
  }

  // Answers a question that will be asked.
  static void answer_with(const char* button) {
    QTimer::singleShot(0, [button] {
      auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      ASSERT_NE(question, nullptr);
      for (QAbstractButton* each : question->buttons())
        if (each->text().remove('&') == button) return each->click();
      FAIL() << button;
    });
  }

  std::string text_of_map() const { return read_input_file(map.toStdString()); }

  const QString path = written("foreign.json", foreign_trace());
  const QString map = text(folder.path() / "modes.yaml");
  TracePage* page = nullptr;
};

TEST_F(Modes, AssignedKernelStreamOrGroupIsSavedAndShown) {
  ASSERT_EQ(mode_of(1), Mode::none);
  page->timeline()->select(1);
  choose(1, "stream 20", "tp");
  EXPECT_EQ(mode_of(1), Mode::tp);
  EXPECT_EQ(page->shown().state().selected, 1U);
  EXPECT_EQ(value(page->facts(), "mode", 1), "tp");
  choose(2, "process group red", "ep");
  EXPECT_EQ(mode_of(2), Mode::ep);
  choose(1, "kernel ncclDevKernel_AllReduce", "compute (no communication)");
  EXPECT_EQ(page->document().traced.trace.tag(1).kind, Kind::compute);
  const attribution::ModeMap read = attribution::read_mode_map(map.toStdString());
  ASSERT_EQ(read.rules.size(), 3U);
  EXPECT_EQ(to_yaml(read.rules[2]), "{stream: 20, mode: tp}");
  EXPECT_EQ(page->modes().rules().rowCount(), 3);
  start_again();
  EXPECT_EQ(opened(path)->document().traced.trace.tag(2).mode, Mode::ep);
}

TEST_F(Modes, AssignmentIsRemovedFromTheMenuOrFromThePanel) {
  choose(1, "stream 20", "tp");
  choose(2, "process group red", "ep");
  choose(1, "Remove the rule {stream: 20, mode: tp}", "");
  EXPECT_EQ(mode_of(1), Mode::none);
  EXPECT_EQ(mode_of(2), Mode::ep);
  QAction remove_first;
  QObject::connect(&remove_first, &QAction::triggered, &page->modes(), [this] { page->modes().remove(0); });
  trigger(&remove_first);
  EXPECT_EQ(mode_of(2), Mode::none);
  EXPECT_FALSE(fs::exists(map.toStdString()));  // a mode map has rules
  EXPECT_EQ(page->modes().file().toStdString(), "");
}

TEST_F(Modes, FileWithCommentsIsExtendedOnlyIfTheUserAgrees) {
  std::ofstream(map.toStdString()) << kComments;
  attribution::ModeRule rule{.streams = {20}, .mode = Mode::cp};
  answer_with("Cancel");
  page->modes().assign(rule);
  QTest::qWait(20);
  EXPECT_EQ(text_of_map(), kComments);
  EXPECT_EQ(shown<TracePage>(), page);
  answer_with("Extend it");
  choose(1, "stream 20", "cp");
  EXPECT_EQ(mode_of(1), Mode::cp);
  EXPECT_EQ(mode_of(2), Mode::ep);
  ASSERT_EQ(attribution::read_mode_map(map.toStdString()).rules.size(), 2U);
  choose(1, "stream 20", "dp");  // its own file is rewritten without a question
  EXPECT_EQ(mode_of(1), Mode::dp);
}

TEST_F(Modes, FirstAssignmentAsksForAFile) {
  keep_mode_map(QString::fromStdString(page->document().path), {});
  const QString chosen = text(folder.path() / "chosen.yaml");
  QTimer::singleShot(0, [&chosen] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    ASSERT_NE(dialog, nullptr);
    dialog->selectFile(chosen);
    QMetaObject::invokeMethod(dialog, "accept");
  });
  choose(1, "stream 20", "pp");
  EXPECT_EQ(mode_of(1), Mode::pp);
  EXPECT_EQ(page->modes().file(), chosen);
  EXPECT_TRUE(fs::exists(chosen.toStdString()));
}

TEST_F(Modes, BrokenFileLeavesTheTraceReadableAndIsReported) {
  std::ofstream(map.toStdString()) << "rules:\n  - {mode: dp}\n";
  start_again();
  page = opened(path);
  EXPECT_THAT(page->document().mode_map_fault, testing::HasSubstr("a rule matches everything"));
  EXPECT_EQ(mode_of(1), Mode::none);
  page->modes().assign({.streams = {20}, .mode = Mode::cp});
  EXPECT_EQ(page->findChild<QTabWidget*>()->currentWidget(), &page->modes());
  EXPECT_EQ(text_of_map(), "rules:\n  - {mode: dp}\n");
}

TEST_F(Modes, TraceOfUnderlapKeepsItsOwn) {
  page = opened(trace_file("own.pftrace"));
  QMenu menu;
  page->modes().fill_menu(menu, 1);
  ASSERT_EQ(menu.actions().size(), 1);
  EXPECT_FALSE(menu.actions().front()->isEnabled());
}

// The mouse opens the menu of the slice below it.
TEST_F(Modes, RightClickOpensTheMenuOfASlice) {
  TimelineView* timeline = page->timeline();
  timeline->go_to(1);
  const Scene scene(timeline->timeline(), page->document().traced.summary, timeline->arrangement());
  for (const PlacedLane& placed : scene.place(timeline->size(), timeline->state())) {
    if (timeline->timeline().lanes()[placed.lane].name != "stream 20") continue;
    const QPoint at(x_of(timeline, 250'000), placed.where.center().y());
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, timeline->mapToGlobal(at));
    QApplication::sendEvent(timeline, &event);
  }
  auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(menu->actions().size(), 3);
  menu->close();
}

TEST_F(Modes, KernelIsAssignedInTheSelectionPanel) {
  page->timeline()->select_range(TimeRange{200'000, 300'000});
  ASSERT_TRUE(wait_until([&] { return page->selected_names().rowCount() == 1; }));
  for (auto* table : page->findChildren<QTableView*>())
    if (table->accessibleName() == "Names in the selection")
      emit table->customContextMenuRequested(table->visualRect(table->model()->index(0, 0)).center());
  auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
  ASSERT_NE(menu, nullptr);
  QStringList offered;
  for (const QAction* action : menu->actions()) offered << action->text();
  EXPECT_THAT(offered, testing::ElementsAre(testing::_, "", "&Copy", "&Save as CSV..."));
  QAction* dp = menu->actions().front()->menu()->actions().front();
  menu->close();
  trigger(dp);
  EXPECT_EQ(mode_of(1), Mode::dp);
}

TEST_F(Modes, HeadlineNamesNoOption) {
  for (const QLabel* label : page->findChildren<QLabel*>())
    EXPECT_FALSE(label->text().contains("--")) << label->text().toStdString();
}

}  // namespace
}  // namespace underlap::viewer
