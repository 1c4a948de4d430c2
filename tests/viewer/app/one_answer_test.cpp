// SPDX-License-Identifier: Apache-2.0
// The windows print the step and the exposed time that the commands print.
#include <fmt/format.h>

#include <QLabel>
#include <QProcess>
#include <QTableView>

#include "platform/json.hpp"
#include "tests/testing.hpp"
#include "tests/viewer/app/window_fixture.hpp"

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

TEST_P(RunWindow, PrintsTheFiguresOfShow) {
  const QString run = text(kResults / GetParam());
  open(run);
  const auto* table = window->page()->findChild<QTableView*>();
  ASSERT_NE(table, nullptr);
  const nlohmann::json results = parse_json(output_of({"show", run, "--json"}));
  const QAbstractItemModel& rows = *table->model();
  ASSERT_EQ(static_cast<std::size_t>(rows.rowCount()), results["cells"].size());
  for (int row = 0; row < rows.rowCount(); ++row) {
    const auto& cell = results["cells"][static_cast<std::size_t>(row)];
    for (const auto& [title, name] : {std::pair("step ms", "step_ms"), std::pair("exposed ms", "exposed_ms")}) {
      int column = 0;
      while (column < rows.columnCount() && rows.headerData(column, Qt::Horizontal) != QString(title)) ++column;
      EXPECT_EQ(rows.index(row, column).data().toString().toStdString(),
                fmt::format("{:.3f}", cell["statistics"][name]["value"].get<double>()))
          << cell["name"] << " " << title;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Results, RunWindow,
                         testing::Values("quick/paced", "modes", "tp", "modelled", "modes_modelled", "h200/precision"),
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
