// SPDX-License-Identifier: Apache-2.0
// Runs that are set against each other: a gate's verdicts, and several sizes.
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QInputDialog>
#include <QPushButton>
#include <QTabWidget>
#include <QTimer>

#include "profiler/gate/named_runs.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/report/scaling/scaling.hpp"
#include "tests/viewer/app/window_fixture.hpp"
#include "tests/viewer/small_runs.hpp"
#include "viewer/app/pages/loading_page.hpp"
#include "viewer/app/pages/report_page.hpp"
#include "viewer/app/pages/run_page.hpp"

namespace underlap::viewer {
namespace {

using testing::HasSubstr;

class Reports : public Window {
 protected:
  QString run_of(const std::string& name, std::int32_t ranks, const char* link = nullptr) {
    testing_support::make_sized_run(folder.path() / name, ranks, link);
    return text(folder.path() / name);
  }

  void open_all(const QStringList& runs) {
    for (const QString& run : runs) open(run);
  }
};

TEST_F(Reports, RunsAreJudgedAsAGateJudgesThem) {
  const QString before = run_of("before", 2), after = run_of("after", 2);
  window->compare(before, after);
  const ReportPage* page = shown<ReportPage>();
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  ReadingWatch nobody;
  const gate::GateReport judged =
      gate::run_gate(gate::runs_named(before.toStdString(), nobody), gate::runs_named(after.toStdString(), nobody), {});
  EXPECT_THAT(page->heading().toStdString(), HasSubstr(gate::verdict_sentence(judged)));
  EXPECT_THAT(page->all().toStdString(), HasSubstr(judged.rows.front().cell));
  EXPECT_EQ(page->findChild<QComboBox*>()->currentData().toString(), "gate");
  // A run that is made anew is said to have changed.
  run_of("before", 2);
  EXPECT_TRUE(wait_until([&] { return window->note().contains("results.json has changed"); }));
}

TEST_F(Reports, ManyRunsOfASideAreJudgedTogether) {
  for (const char* run : {"before/run-00", "before/run-01", "after/run-00", "after/run-01"}) run_of(run, 2);
  window->compare(text(folder.path() / "before"), text(folder.path() / "after"));
  const ReportPage* page = shown<ReportPage>();
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  EXPECT_THAT(page->heading().toStdString(), HasSubstr("2 runs"));
}

TEST_F(Reports, OpenRunIsComparedWithAnotherThatIsOpen) {
  const QString before = run_of("before", 2), after = run_of("after", 2);
  opened(trace_file("trace.pftrace"));
  open_all({before, after});
  auto* run = shown<RunPage>();
  ASSERT_NE(run, nullptr);
  for (const bool by_key : {true, false}) {
    QStringList offered;
    QTimer::singleShot(0, [&offered] {
      auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      offered = dialog->comboBoxItems();
      dialog->setTextValue(offered.front());
      dialog->accept();
    });
    if (by_key)
      press(run, Qt::Key_D, Qt::ControlModifier);
    else
      run->findChild<QPushButton*>("judge")->click();
    EXPECT_NE(shown<ReportPage>(), nullptr) << window->last_error().toStdString();
    ASSERT_EQ(offered.size(), 3);  // a trace is none of them
    EXPECT_EQ(offered.front(), QFileInfo(before).canonicalFilePath());
    window->open(after);
  }
}

TEST_F(Reports, RunOfOtherWorkIsJudgedWhereThatIsWanted) {
  window->compare(run_of("paced", 2), run_of("real", 2, "real"));
  wait_for_reading();
  auto* refused = window->findChild<LoadingPage*>();
  ASSERT_NE(refused, nullptr);
  EXPECT_THAT(window->last_error().toStdString(), testing::Not(HasSubstr("--force")));
  emit refused->go_on_wanted();
  const ReportPage* page = shown<ReportPage>();
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  EXPECT_THAT(page->heading().toStdString(), HasSubstr("NOT COMPARABLE"));
}

TEST_F(Reports, RunAndTraceAreNotAlike) {
  window->compare(run_of("run", 2), trace_file("trace.pftrace"));
  wait_for_reading();
  EXPECT_THAT(window->last_error().toStdString(), HasSubstr("of different kinds"));
}

TEST_F(Reports, OpenRunsOfSeveralSizesAreHeldAgainstEachOther) {
  const QStringList runs{run_of("2", 2), run_of("4", 4), run_of("8", 8)};
  open_all(runs);
  press(window->page(), Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
  const ReportPage* page = shown<ReportPage>();
  ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  std::vector<std::string> paths;
  for (const QString& run : runs) paths.push_back(QFileInfo(run).canonicalFilePath().toStdString());
  const report::ScalingReport scaled = report::read_scaling(paths, false, [](const std::string&) {});
  EXPECT_THAT(page->all().toStdString(),
              HasSubstr(report::scaling_sentences(scaled.cells.front()).front().substr(0, 40)));
  EXPECT_EQ(page->findChild<QComboBox*>()->currentData().toString(), "scaling");
  // It is one of the tabs that open again.
  start_again();
  window->open_again();
  wait_for_reading();
  EXPECT_EQ(window->num_pages(), 4);
  EXPECT_NE(window->findChild<ReportPage*>(), nullptr);
}

TEST_F(Reports, RunsOfOneSizeAreRefusedInTheWindow) {
  open_all({run_of("one", 2)});
  press(window->page(), Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(shown<ReportPage>(), nullptr);
  EXPECT_THAT(window->last_error().toStdString(), HasSubstr("two sizes"));
}

}  // namespace
}  // namespace underlap::viewer
