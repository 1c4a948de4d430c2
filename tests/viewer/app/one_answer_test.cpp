// SPDX-License-Identifier: Apache-2.0
// The windows print the step and the exposed time that the commands print.
#include <QLabel>
#include <QProcess>

#include "profiler/report/answer.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/report_tables.hpp"
#include "tests/testing.hpp"
#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/model/text_table_model.hpp"

namespace underlap::viewer {
namespace {

const fs::path kResults = UNDERLAP_RESULTS_FOLDER;

std::string output_of(const QStringList& arguments) {
  QProcess process;
  process.start(UNDERLAP_PROGRAM, arguments);
  EXPECT_TRUE(process.waitForFinished(60'000));
  EXPECT_EQ(process.exitCode(), 0) << process.readAllStandardError().toStdString();
  return process.readAllStandardOutput().toStdString();
}

class RunWindow : public Window, public testing::WithParamInterface<const char*> {};

TEST_P(RunWindow, PrintsWhatShowPrints) {
  const QString run = text(kResults / GetParam());
  open(run);
  const auto* page = shown<RunPage>();
  const report::RunResults& results = page->document().results;
  const Table printed = report::brief_table(results, page->document().summaries);
  const QAbstractItemModel& rows = page->cells();
  ASSERT_EQ(static_cast<std::size_t>(rows.rowCount()), printed.rows.size());
  for (int row = 0; row < rows.rowCount(); ++row)
    for (int column = 0; column < rows.columnCount(); ++column)
      EXPECT_EQ(rows.index(row, column).data().toString().toStdString(),
                printed.rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)].text);
  // Every answer, warning and line of the heading.
  const QString shown_by_program = QString::fromStdString(output_of({"show", run, "--details"})).simplified();
  for (const QString& line : page->summary().split('\n', Qt::SkipEmptyParts))
    EXPECT_TRUE(shown_by_program.contains(line.simplified())) << line.toStdString();
  const std::string answer = report::headline(report::answers_of(results, page->document().summaries));
  for (const std::string& needed : {answer, report::report_warnings(results), report::run_heading(results)})
    for (const QString& line : QString::fromStdString(needed).split('\n', Qt::SkipEmptyParts))
      EXPECT_TRUE(page->summary().contains(line)) << line.toStdString();
}

INSTANTIATE_TEST_SUITE_P(Results, RunWindow,
                         testing::Values("quick/paced", "modes", "tp", "modelled", "modes_modelled", "h200/precision",
                                         "h100/overlap"),
                         CaseName());

class TraceWindow : public Window, public testing::WithParamInterface<const char*> {};

TEST_P(TraceWindow, AnswersAsAnalyzeDoes) {
  const QString trace = text(kResults / GetParam());
  const TracePage* page = opened(trace);
  const auto* answer = page->findChild<QLabel*>("answer");
  ASSERT_NE(answer, nullptr);
  const QString printed = QString::fromStdString(output_of({"analyze", trace})).simplified();
  EXPECT_TRUE(printed.contains(answer->text().simplified())) << answer->text().toStdString() << "\n"
                                                             << printed.toStdString();
}

INSTANTIATE_TEST_SUITE_P(Results, TraceWindow,
                         testing::Values("quick/paced/traces/off.pftrace.zst", "quick/paced/traces/both.pftrace.zst",
                                         "h200/overlap/traces/00-off.pftrace.gz",
                                         "h200/overlap/traces/01-both.pftrace.gz",
                                         "h200/overlap/traces/02-no_comm.pftrace.gz"),
                         CaseName());

}  // namespace
}  // namespace underlap::viewer
