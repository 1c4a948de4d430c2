// SPDX-License-Identifier: Apache-2.0
// What tables and charts show where there is little room, or more than enough.
#include <QAbstractItemView>
#include <QChart>
#include <QChartView>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QHelpEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QToolTip>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/tables.hpp"

namespace underlap::viewer {
namespace {

class Tables : public Window {
 protected:
  static constexpr int kFigures = 6;

  Tables() {
    model.set_table({{{"cell", "cell"}},
                     std::vector<analysis::FigureColumn>(kFigures, {"exposed of a step", "exposed"}),
                     {{{"a name that is wider than a title"}, std::vector<std::optional<double>>(kFigures, 1e6)}}});
    table.reset(make_table(&model, "figures"));
  }

  std::vector<int> widths_at(int width) {
    table->resize(width, 100);
    table->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(table.get()));
    fit_columns(*table);
    std::vector<int> widths;
    for (int column = 0; column <= kFigures; ++column) widths.push_back(table->columnWidth(column));
    return widths;
  }

  int contents_of(int column) const { return static_cast<const QAbstractItemView&>(*table).sizeHintForColumn(column); }

  FigureTableModel model;
  std::unique_ptr<QTableView> table;
};

TEST_F(Tables, FiguresStandBesideTheirNames) {
  const std::vector<int> widths = widths_at(2400);
  for (int column = 0; column <= kFigures; ++column)
    EXPECT_LE(widths[static_cast<std::size_t>(column)],
              2 + std::max(contents_of(column), table->horizontalHeader()->sectionSizeHint(column)));
}

// Every word of a title is seen, on as many lines as it takes.
TEST_F(Tables, TitlesAreBrokenAndNeverCut) {
  widths_at(2400);
  const int one_line = table->horizontalHeader()->height();
  widths_at(520);
  const QHeaderView& titles = *table->horizontalHeader();
  EXPECT_TRUE(wait_until([&] { return titles.height() >= one_line + titles.fontMetrics().lineSpacing(); }));
  for (int column = 1; column <= kFigures; ++column)
    EXPECT_GE(titles.sectionSize(column), titles.fontMetrics().horizontalAdvance("exposed"));
}

TEST_F(Tables, WithoutRowsAreExplained) {
  const auto picture = [&] { return table->viewport()->grab().toImage(); };
  table->resize(400, 100);
  say_when_empty(table.get(), "Click a slice.");
  model.set_table({});
  const QImage explained = picture();
  say_when_empty(table.get(), "");
  EXPECT_NE(explained, picture());
  model.set_table({{{"cell", "cell"}}, {}, {{{"a"}, {}}}});
  const QImage without = picture();
  say_when_empty(table.get(), "Click a slice.");
  EXPECT_EQ(picture(), without);
}

TEST_F(Tables, AreCopiedWithTabsAndSavedAsCsv) {
  analysis::FigureTable two = model.table();
  two.rows.push_back({{"=a\tname, \"quoted\""}, std::vector<std::optional<double>>(kFigures, 2.5e6)});
  model.set_table(two);
  widths_at(2400);
  const QString titles = "cell" + QString("\texposed of a step ms").repeated(kFigures) + "\n";
  const QString first = two.rows[0].names[0].c_str() + QString("\t1.000").repeated(kFigures) + "\n";
  const QString second = "=a\\tname, \"quoted\"" + QString("\t2.500").repeated(kFigures) + "\n";
  EXPECT_EQ(table_text(*table), titles + first + second);
  table->selectRow(1);
  EXPECT_TRUE(table->actions().first()->shortcuts().contains(QKeySequence::Copy));
  table->actions().first()->trigger();
  EXPECT_EQ(QApplication::clipboard()->text(), titles + second);
  EXPECT_EQ(table_csv(*table), (titles.chopped(1).replace('\t', ',') + "\n" + first.chopped(1).replace('\t', ',') +
                                "\n\"'=a\\tname, \"\"quoted\"\"\"" + QString(",2.500").repeated(kFigures) + "\n")
                                   .toStdString());
}

// A kernel's name keeps its line and is no HTML; only a long one is broken.
TEST_F(Tables, TooltipsBreakOnlyLongLines) {
  EXPECT_EQ(tooltip_text("void gemm<int, 8>(float*)"),
            "<p style='white-space:pre'>void gemm&lt;int, 8&gt;(float*)</p>");
  const QString longest = tooltip_text(QString("word ").repeated(40));
  for (const QString& line : longest.split("<br>")) EXPECT_LT(line.size(), 90 + 40);
  EXPECT_EQ(longest.count("<br>"), 2);
  EXPECT_EQ(tooltip_text(QString(200, 'n')).count("<br>"), 2);
  EXPECT_EQ(tooltip_text(""), "");
  widths_at(2400);
  const QPoint at = table->visualRect(model.index(0, 0)).center();
  QHelpEvent help(QEvent::ToolTip, at, table->viewport()->mapToGlobal(at));
  QApplication::sendEvent(table->viewport(), &help);
  EXPECT_EQ(QToolTip::text(), tooltip_text("a name that is wider than a title"));
}

TEST_F(Tables, ChartIsCopiedAndSavedFromItsMenu) {
  open(recorded_run());
  auto* charts = window->page()->findChild<ChartPanel*>();
  ASSERT_NE(charts, nullptr);
  QStringList offered;
  for (const QAction* action : charts->findChild<QChartView*>()->actions()) offered << action->text();
  EXPECT_THAT(offered, testing::ElementsAre("&Copy picture", "&Save picture or data..."));
  QApplication::clipboard()->clear();
  charts->copy();
  EXPECT_GT(QApplication::clipboard()->image().width(), 100);
}

TEST_F(Tables, TitlesGiveWayBeforeNames) {
  const std::vector<int> all = widths_at(2400);
  const int titles = std::accumulate(all.begin(), all.end(), 0);
  const std::vector<int> widths = widths_at(titles - 100);
  EXPECT_GE(widths[0], contents_of(0));
  EXPECT_LE(std::accumulate(widths.begin(), widths.end(), 0), table->viewport()->width());
  for (int column = 1; column <= kFigures; ++column)
    EXPECT_GE(widths[static_cast<std::size_t>(column)], contents_of(column));
}

// Kernels have names of any length.
TEST_F(Tables, NamesOfMoreThanAThirdGiveWayBeforeTitles) {
  analysis::FigureTable long_name = model.table();
  long_name.rows.front().names.front() = std::string(300, 'n');
  model.set_table(long_name);
  const std::vector<int> widths = widths_at(1600);
  EXPECT_LE(std::accumulate(widths.begin(), widths.end(), 0), table->viewport()->width());
  for (int column = 1; column <= kFigures; ++column)
    EXPECT_GE(widths[static_cast<std::size_t>(column)], table->horizontalHeader()->sectionSizeHint(column));
}

TEST_F(Tables, SlicesThatWereFoundAreSortedByATitle) {
  TracePage* page = opened(trace_file("trace.pftrace"));
  page->find();
  page->search("r");
  ASSERT_EQ(page->found().slices().size(), 6U);
  const std::vector<std::uint32_t> found = page->found().slices();
  QHeaderView* titles = nullptr;
  for (const QTableView* view : page->findChildren<QTableView*>())
    if (view->model() == &page->found()) titles = view->horizontalHeader();
  ASSERT_NE(titles, nullptr);
  const auto click = [&] {
    QTest::mouseClick(titles->viewport(), Qt::LeftButton, Qt::NoModifier,
                      QPoint(titles->sectionViewportPosition(4) + 8, titles->height() / 2));
  };
  const Trace& trace = page->document().traced.trace;
  click();
  const std::int64_t first = trace.duration_ns()[page->found().slices().front()];
  click();
  const std::int64_t last = trace.duration_ns()[page->found().slices().front()];
  EXPECT_EQ(first + last, 7'500'000);  // rank 1 comes half a millisecond late
  EXPECT_NE(first, last);
  click();
  EXPECT_EQ(page->found().slices(), found);
}

TEST_F(Tables, ChartScrollsToRowsThatHaveNoRoom) {
  const std::shared_ptr<RunDocument> run = open_run(UNDERLAP_RESULTS_FOLDER "/quick/paced");
  ChartPanel panel;
  panel.set_input({.name = run->path, .run = &run->results, .summaries = &run->summaries});
  auto* kinds = panel.findChild<QComboBox*>();
  kinds->setCurrentIndex(kinds->findData("matrix"));
  panel.resize(600, 180);
  panel.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel));
  const auto* view = panel.findChild<QChartView*>();
  const auto* scrolled = panel.findChild<QScrollArea*>();
  const auto shows_all = [&] { return view->height() >= view->chart()->preferredHeight(); };
  EXPECT_TRUE(wait_until([&] { return shows_all() && scrolled->verticalScrollBar()->maximum() > 0; }));
  panel.resize(900, 1200);
  EXPECT_TRUE(wait_until([&] { return scrolled->verticalScrollBar()->maximum() == 0; }));
  EXPECT_TRUE(shows_all());
}

}  // namespace
}  // namespace underlap::viewer
