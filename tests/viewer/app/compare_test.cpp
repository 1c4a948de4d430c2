// SPDX-License-Identifier: Apache-2.0
// Two traces side by side, runs against a baseline, and runs at several sizes.
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>

#include "profiler/gate/named_runs.hpp"
#include "profiler/gate/reports.hpp"
#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/pages/gate_page.hpp"
#include "viewer/app/pages/loading_page.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/pages/scaling_page.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/model/text_table_model.hpp"

namespace underlap::viewer {
namespace {

using testing::HasSubstr;

class Compare : public ComparisonInWindow {
 protected:
  // The steps of the baseline have other numbers, and begin elsewhere.
  void compare_with_other_steps() {
    Trace before = two_ranks(0);
    for (Mark& mark : before.marks) mark.step += 1000;
    page = compared(written("other.pftrace", before), trace_file("after.pftrace", 2'000'000));
  }

  static std::uint32_t slice_at(const TimelineView& view, std::int32_t rank, std::int64_t begin_ns, Kind kind) {
    const Trace& trace = view.timeline().trace();
    for (std::uint32_t slice = 0; slice < trace.size(); ++slice)
      if (trace.track_of(slice).rank == rank && trace.tag(slice).kind == kind &&
          view.timeline().begin_ns(slice) == begin_ns)
        return slice;
    return Timeline::kNoSlice;
  }
};

TEST_F(Compare, SelectedSliceIsToldOnBothSides) {
  // The second step's reduce-scatter of rank 1, which comes half a millisecond late.
  const std::uint32_t now = slice_at(*page->candidate(), 1, 17'500'000, Kind::communication),
                      before = slice_at(*page->baseline(), 1, 19'500'000, Kind::communication);
  ASSERT_NE(now, Timeline::kNoSlice);
  page->candidate()->select(now);
  EXPECT_EQ(page->baseline()->state().selected, before);
  EXPECT_EQ(value(page->facts(), "name", 1), "grad_reduce_scatter");
  EXPECT_EQ(value(page->facts(), "exposed", 1), "2.000 ms (57.1 %)");
  EXPECT_EQ(value(page->facts(), "exposed", 2), "3.500 ms (100.0 %)");
  EXPECT_EQ(value(page->facts(), "start in the step", 1), "5.500 ms");
  EXPECT_EQ(value(page->facts(), "start in the step", 2), "7.500 ms");
  EXPECT_EQ(page->facts().headerData(2, Qt::Horizontal, Qt::DisplayRole).toString(), "baseline");
  auto* panels = page->findChild<QTabWidget*>();
  EXPECT_EQ(panels->tabText(panels->currentIndex()), "Details");
  // And from the other side.
  page->baseline()->select(slice_at(*page->baseline(), 0, 7'000'000, Kind::communication));
  EXPECT_EQ(page->candidate()->state().selected, slice_at(*page->candidate(), 0, 5'000'000, Kind::communication));
  page->candidate()->clear();
  EXPECT_EQ(page->baseline()->state().selected, Timeline::kNoSlice);
  EXPECT_EQ(page->facts().rowCount(), 0);
}

TEST_F(Compare, SliceWithoutACounterpartSaysSo) {
  Trace more = two_ranks(0);
  more.add(slice_of(0, 11'000'000, 500'000, "added"));
  page = compared(trace_file("before.pftrace"), written("more.pftrace", more));
  page->candidate()->select(slice_at(*page->candidate(), 0, 11'000'000, Kind::compute));
  EXPECT_EQ(page->baseline()->state().selected, Timeline::kNoSlice);
  EXPECT_EQ(value(page->facts(), "name", 1), "added");
  EXPECT_EQ(value(page->facts(), "name", 2), "no counterpart in this step");
}

TEST_F(Compare, SelectedRangeIsTheSamePartOfTheStepAndToldOnBothSides) {
  compare_with_other_steps();
  page->align(1);
  TimelineView *candidate = page->candidate(), *baseline = page->baseline();
  drag(candidate, Qt::ShiftModifier, 17e6, 23e6);
  ASSERT_TRUE(candidate->state().range.has_value());
  EXPECT_EQ(candidate->state().range, baseline->state().range);  // both begin with the trace
  const auto range = *candidate->state().range;
  page->align(2);
  EXPECT_EQ(candidate->state().range, (TimeRange{range.begin_ns + 12'000'000, range.end_ns + 12'000'000}));
  candidate->select_range(TimeRange{24'000'000, 36'000'000});  // all of the third step
  ASSERT_TRUE(wait_until([&] { return value(page->selection().parts(), "idle", 1) == "1.250"; }));
  EXPECT_EQ(value(page->selection().parts(), "communication exposed", 1), "3.750");
  EXPECT_EQ(value(page->selection().parts(), "communication exposed", 2), "2.000");
  EXPECT_EQ(value(page->selection().parts(), "dp exposed", 3), "-1.750");
  EXPECT_EQ(value(page->selection().parts(), "compute", 3), "0.000");
  EXPECT_EQ(value(page->selection().names(), "gemm", 2), "7.000");
  candidate->select_range(std::nullopt);
  EXPECT_FALSE(baseline->state().range.has_value());
  EXPECT_EQ(page->selection().parts().rowCount(), 0);
}

TEST_F(Compare, TimeCountsFromTheStepAndItsNumbersAreSaid) {
  compare_with_other_steps();
  EXPECT_EQ(page->steps_text(), "step 1 vs. step 1001");
  page->align(1);
  EXPECT_EQ(page->steps_text(), "step 2 vs. step 1002");
  EXPECT_EQ(page->candidate()->state().origin_ns, 12'000'000);
  EXPECT_EQ(page->baseline()->state().origin_ns, 12'000'000);
  EXPECT_EQ(page->findChild<QSpinBox*>()->text(), "2 of 3");
}

TEST_F(Compare, HeadingSaysWhatItsFiguresAre) {
  QString heading;
  for (const QLabel* label : page->findChildren<QLabel*>())
    if (label->text().contains("the step takes")) heading = label->text();
  EXPECT_THAT(heading.toStdString(),
              HasSubstr("Means over 6 windows (one step of one rank) on each side; measured: host; one run"));
}

TEST_F(Compare, MemberThatCameLastIsGoneToOnEitherSide) {
  for (TimelineView* view : {page->candidate(), page->baseline()}) {
    view->setFocus();
    view->fit();
    view->arrangement().set_shown(5, false);  // its lane may be out of sight
    view->select(slice_at(*view, 0, view == page->candidate() ? 5'000'000 : 7'000'000, Kind::communication));
    press(view, Qt::Key_L, Qt::ShiftModifier);
    const std::uint32_t late = view->state().selected;
    ASSERT_NE(late, Timeline::kNoSlice);
    EXPECT_EQ(view->timeline().trace().track_of(late).rank, 1);
    EXPECT_TRUE(view->arrangement().lanes()[5].is_shown);
  }
}

class Reports : public Window {
 protected:
  QString run_of(const std::string& name, std::int32_t ranks, const char* link = nullptr) {
    make_sized_run(folder.path() / name, ranks, link);
    return text(folder.path() / name);
  }

  void open_all(const QStringList& runs) {
    for (const QString& run : runs) open(run);
  }
};

TEST_F(Reports, RunsAreJudgedAsAGateJudgesThem) {
  const QString before = run_of("before", 2), after = run_of("after", 2);
  window->compare(before, after);
  const GatePage* page = shown<GatePage>();
  ReadingWatch nobody;
  const gate::GateReport judged =
      gate::run_gate(gate::runs_named(before.toStdString(), nobody), gate::runs_named(after.toStdString(), nobody), {});
  EXPECT_THAT(page->heading().toStdString(), HasSubstr(gate::verdict_sentence(judged)));
  EXPECT_EQ(page->verdict().text().toLower().toStdString(), to_string(judged.verdict));
  const Table rows = gate::rows_table(judged, gate::Rows::all);
  ASSERT_EQ(static_cast<std::size_t>(page->rows().rowCount()), rows.rows.size());
  for (std::size_t row = 0; row < rows.rows.size(); ++row)
    for (std::size_t column = 0; column < rows.columns.size(); ++column)
      EXPECT_EQ(page->rows().index(static_cast<int>(row), static_cast<int>(column)).data().toString().toStdString(),
                rows.rows[row][column].text);
  EXPECT_THAT(page->explanation().text().toStdString(), HasSubstr(gate::row_sentence(judged.rows.front())));
  EXPECT_EQ(page->findChild<QComboBox*>()->currentData().toString(), "gate");
  // A run that is made anew is said to have changed.
  run_of("before", 2);
  EXPECT_TRUE(wait_until([&] { return window->note().contains("results.json changed"); }));
}

// The same simulated run, with a baseline whose steps took half the time.
TEST_F(Reports, RegressionIsNamedAndColoredBeforeItsTable) {
  report::RunResults results = report::read_results(UNDERLAP_RESULTS_FOLDER "/modelled");
  for (const char* run : {"now", "before"}) {
    fs::create_directories(folder.path() / run);
    report::write_results(folder.path() / run, results, report::Statistics::left_out);
    results.info.started_utc += "x";  // what separates runs
    for (report::CellResult& cell : results.cells)
      for (report::StepSample& sample : cell.samples) sample.step_ns /= 2;
  }
  const QString before = text(folder.path() / "before"), now = text(folder.path() / "now");
  window->judge(before, now);
  GatePage* page = shown<GatePage>();
  ASSERT_EQ(page->verdict().text(), "REGRESSION");
  EXPECT_EQ(page->verdict().palette().color(QPalette::Window), Theme::light().worse);
  window->set_dark(true);
  EXPECT_EQ(page->verdict().palette().color(QPalette::Window), Theme::dark().worse);
  const int last = page->rows().columnCount() - 1;
  EXPECT_EQ(page->rows().index(0, last).data().toString(), "regression");
  EXPECT_EQ(page->rows().index(0, last).data(Qt::ForegroundRole).value<QColor>(), Theme::dark().worse);
}

TEST_F(Reports, TracesAreJudgedWhereAGateIsWanted) {
  const QString before = trace_file("before.pftrace"), after = trace_file("after.pftrace", 2'000'000);
  window->judge(before, after);
  const GatePage* page = shown<GatePage>();
  EXPECT_EQ(page->verdict().text(), "INCONCLUSIVE");  // one run a side
  EXPECT_THAT(page->explanation().text().toStdString(), HasSubstr("run-to-run spread"));
  // It is another tab than the comparison of the two, and opens again as a gate.
  compared(before, after);
  start_again();
  window->open_again();
  wait_for_reading();
  EXPECT_NE(window->findChild<GatePage*>(), nullptr);
  EXPECT_NE(window->findChild<ComparePage*>(), nullptr);
}

TEST_F(Reports, EveryTableIsCopiedAndSaved) {
  opened(trace_file("trace.pftrace"));
  compared();
  open(run_of("run", 2));
  window->judge(trace_file("before.pftrace"), trace_file("after.pftrace", 2'000'000));
  wait_for_reading();
  const QList<QTableView*> tables = window->findChildren<QTableView*>();
  EXPECT_GE(tables.size(), 14);
  for (const QTableView* each : tables) {
    QStringList offered;
    for (const QAction* action : each->actions()) offered << action->text();
    EXPECT_THAT(offered, testing::ElementsAre("&Copy", "&Save as CSV...")) << each->accessibleName().toStdString();
    EXPECT_THAT(each->contextMenuPolicy(), testing::AnyOf(Qt::ActionsContextMenu, Qt::CustomContextMenu));
    EXPECT_NE(each->findChild<QToolButton*>(), nullptr);
  }
}

// Options are for the command line; a window has other means.
TEST_F(Reports, NoPageNamesAnOption) {
  report::RunResults results = report::read_results(UNDERLAP_RESULTS_FOLDER "/quick/paced");
  results.cells.front().memory_advice = "--layers 4 is predicted to fit";
  for (const char* run : {"one", "two"}) {
    results.info.started_utc = run;
    fs::create_directories(folder.path() / run);
    report::write_results(folder.path() / run, results, report::Statistics::left_out);
  }
  open(text(folder.path() / "one"));
  EXPECT_THAT(shown<RunPage>()->summary().toStdString(), HasSubstr("DOES NOT FIT"));
  window->compare(text(folder.path() / "one"), text(folder.path() / "two"));
  EXPECT_THAT(shown<GatePage>()->heading().toStdString(), HasSubstr("one run per side"));
  window->judge(text(folder.path() / "settings"), text(folder.path() / "two"));
  wait_for_reading();
  EXPECT_FALSE(window->last_error().isEmpty());
  QStringList texts{window->last_error()};
  for (const QLabel* label : window->findChildren<QLabel*>()) texts << label->text();
  for (const QTableView* table : window->findChildren<QTableView*>()) texts << table_text(*table);
  for (const QAction* action : window->all_actions()) texts << action->text();
  const QRegularExpression option(R"((^|[\s`(])--[a-z])");
  for (const QString& each : texts) EXPECT_FALSE(each.contains(option)) << each.toStdString();
}

TEST_F(Reports, SwapExchangesBaselineAndCandidate) {
  const QString before = trace_file("before.pftrace"), after = trace_file("after.pftrace", 2'000'000);
  ComparePage* page = compared(before, after);
  const std::string from = page->document().from->path, to = page->document().to->path;
  press(page->candidate(), Qt::Key_X, Qt::ControlModifier | Qt::ShiftModifier);
  page = shown<ComparePage>();
  EXPECT_EQ(page->document().from->path, to);
  EXPECT_EQ(page->document().to->path, from);
}

TEST_F(Reports, ManyRunsOfASideAreJudgedTogether) {
  for (const char* run : {"before/run-00", "before/run-01", "after/run-00", "after/run-01"}) run_of(run, 2);
  window->compare(text(folder.path() / "before"), text(folder.path() / "after"));
  const GatePage* page = shown<GatePage>();
  EXPECT_THAT(page->heading().toStdString(), HasSubstr("2 runs"));
}

TEST_F(Reports, OpenRunIsComparedWithAnotherThatIsOpen) {
  const QString before = run_of("before", 2), after = run_of("after", 2);
  opened(trace_file("trace.pftrace"));
  open_all({before, after});
  auto* run = shown<RunPage>();
  for (const bool by_key : {true, false}) {
    if (by_key)
      press(run, Qt::Key_D, Qt::ControlModifier);
    else
      run->findChild<QPushButton*>("judge")->click();
    EXPECT_THAT(confirm_pair(), testing::ElementsAre(QFileInfo(before).canonicalFilePath()));  // and not the trace
    EXPECT_NE(shown<GatePage>(), nullptr) << window->last_error().toStdString();
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
  const GatePage* page = shown<GatePage>();
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
  const ScalingPage* page = shown<ScalingPage>();
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
  EXPECT_NE(window->findChild<ScalingPage*>(), nullptr);
}

TEST_F(Reports, RunsOfOneSizeAreRefusedInTheWindow) {
  open_all({run_of("one", 2)});
  press(window->page(), Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_THROW(shown<ScalingPage>(), std::runtime_error);
  EXPECT_THAT(window->last_error().toStdString(), HasSubstr("two sizes"));
}

}  // namespace
}  // namespace underlap::viewer
