// SPDX-License-Identifier: Apache-2.0
// Two traces side by side: what is selected on one side is found on the other, and both are told.
#include <QAction>
#include <QLabel>
#include <QMouseEvent>
#include <QSpinBox>
#include <QTabWidget>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/pages/compare_page.hpp"

namespace underlap::viewer {
namespace {

using testing::HasSubstr;

class Compare : public ComparisonInWindow {
 protected:
  // The steps of the baseline have other numbers, and begin elsewhere.
  void compare_with_other_steps() {
    Trace before = testing_support::two_ranks(0);
    for (Mark& mark : before.marks) mark.step += 1000;
    page = compared(written("other.pftrace", before), trace_file("after.pftrace", 2'000'000));
    ASSERT_NE(page, nullptr) << window->last_error().toStdString();
  }

  static std::string value(const QAbstractItemModel& model, const std::string& row, int column) {
    for (int i = 0; i < model.rowCount(); ++i)
      if (model.index(i, 0).data().toString().trimmed().toStdString() == row)
        return model.index(i, column).data().toString().toStdString();
    return "no row";
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
  Trace more = testing_support::two_ranks(0);
  more.add(testing_support::slice_of(0, 11'000'000, 500'000, "added"));
  page = compared(trace_file("before.pftrace"), written("more.pftrace", more));
  ASSERT_NE(page, nullptr);
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
  EXPECT_EQ(candidate->state().range, std::pair(range.first + 12'000'000, range.second + 12'000'000));
  candidate->select_range(std::pair{24'000'000, 36'000'000});  // all of the third step
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
  EXPECT_THAT(heading.toStdString(), HasSubstr("Means over 6 steps and ranks on each side; measured: host; one run"));
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

}  // namespace
}  // namespace underlap::viewer
