// SPDX-License-Identifier: Apache-2.0
// A window with eight ranks or more; the last one is late.
#include <QComboBox>
#include <QHelpEvent>
#include <QLineEdit>
#include <QToolTip>

#include <cmath>

#include "tests/viewer/app/window_fixture.hpp"
#include "viewer/app/overview_bar.hpp"

namespace underlap::viewer {
namespace {

class ManyRanks : public Window {
 protected:
  static constexpr std::int32_t kRanks = 40;

  void SetUp() override { show(); }

  void show() {
    page = opened(path);
    timeline = page->timeline();
    ASSERT_TRUE(wait_until([&] { return timeline->state().ns_per_pixel > 1; }));
  }

  std::vector<PlacedLane> seen() const {
    const Scene scene(timeline->timeline(), page->document().traced.summary, timeline->arrangement());
    return scene.place(timeline->size(), timeline->state());
  }

  // The middle of a rank's strip; fails if it is not seen.
  int y_of(std::int32_t rank) const {
    for (const PlacedLane& placed : seen()) {
      const Lane& lane = timeline->timeline().lanes()[placed.lane];
      if (lane.rank == rank && lane.kind == LaneKind::strip) return placed.where.center().y();
    }
    ADD_FAILURE() << "rank " << rank << " is not seen";
    return 0;
  }

  std::size_t num_visible() const {
    return static_cast<std::size_t>(std::ranges::count_if(timeline->arrangement().lanes(), &ArrangedLane::is_visible));
  }

  const QString path = written("ranks.pftrace", ranks_of_one_group(kRanks));
  TracePage* page = nullptr;
  TimelineView* timeline = nullptr;
};

TEST_F(ManyRanks, OpenAsStripsWithTheLateRankInView) {
  EXPECT_EQ(num_visible(), static_cast<std::size_t>(kRanks));
  const Scene scene(timeline->timeline(), page->document().traced.summary, timeline->arrangement());
  EXPECT_EQ(scene.late_rank(), kRanks - 1);
  EXPECT_GT(timeline->state().scroll, 0);
  EXPECT_GT(y_of(kRanks - 1), 0);
}

TEST_F(ManyRanks, ClickOnAStripOrItsTriangleExpandsItAndStaysSoTheNextTime) {
  const auto click = [&](int x, std::int32_t rank) {
    QTest::mouseClick(timeline, Qt::LeftButton, Qt::NoModifier, QPoint(x, y_of(rank)));
  };
  click(Scene::kNames + 300, kRanks - 1);
  EXPECT_EQ(num_visible(), kRanks + 2U);
  click(12, kRanks - 2);
  EXPECT_EQ(num_visible(), kRanks + 4U);
  click(Scene::kNames + 300, kRanks - 2);  // an expanded strip has nothing more to expand
  EXPECT_EQ(num_visible(), kRanks + 4U);
  click(12, kRanks - 2);
  EXPECT_EQ(num_visible(), kRanks + 2U);
  start_again();
  show();
  EXPECT_EQ(num_visible(), kRanks + 2U);
}

TEST_F(ManyRanks, GoingToASliceExpandsItsRank) {
  timeline->go_to(3 * 6 + 1);  // of rank 3, which has 6 slices
  EXPECT_EQ(num_visible(), kRanks + 2U);
  press(timeline, Qt::Key_X);
  EXPECT_EQ(num_visible(), 3U * kRanks);
  press(timeline, Qt::Key_X, Qt::ShiftModifier);
  EXPECT_EQ(num_visible(), static_cast<std::size_t>(kRanks));
}

// Rank 39 waits for none, and transfers for 3.5 of the 4 ms.
TEST_F(ManyRanks, SelectedRangeIsOfAllRanksOrOfOne) {
  timeline->fit();
  drag(timeline, Qt::ControlModifier, 0, 12e6);
  const auto is = [&](const std::string& row, int column, double ms) {
    return wait_until([&] {
      const std::string shown = value(page->selected_parts(), row, column);
      return shown != "no row" && std::abs(std::atof(shown.c_str()) - ms) < 0.06;
    });
  };
  enum { kTime = 1, kHidden, kExposed, kWait, kTransfer };
  EXPECT_TRUE(is("compute", kTime, 7));
  EXPECT_TRUE(is("idle", kTime, 1 + 0.5 / kRanks));
  EXPECT_TRUE(is("dp", kHidden, 0));
  EXPECT_TRUE(is("dp", kExposed, 4 - 0.5 / kRanks));
  EXPECT_TRUE(is("dp", kWait, 0.5 - 0.5 / kRanks));
  EXPECT_TRUE(is("dp", kTransfer, 3.5));
  QComboBox* ranks = nullptr;
  for (auto* box : page->findChildren<QComboBox*>())
    if (box->accessibleName() == "Ranks") ranks = box;
  ASSERT_NE(ranks, nullptr);
  ASSERT_TRUE(ranks->isVisible());
  ranks->setCurrentText("rank 39");
  EXPECT_TRUE(is("idle", kTime, 1.5));
  EXPECT_TRUE(is("dp", kWait, 0));
  EXPECT_EQ(value(page->selected_names(), "gemm", 2), "1");
  EXPECT_EQ(value(page->selected_names(), "gemm", 3), "7.000");
}

TEST_F(ManyRanks, DragOverTheRulerSelectsARange) {
  timeline->fit();
  const int y = Scene::kRulers / 2;
  QTest::mousePress(timeline, Qt::LeftButton, Qt::NoModifier, QPoint(x_of(timeline, 2e6), y));
  for (const double ns : {4e6, 8e6}) QTest::mouseMove(timeline, QPoint(x_of(timeline, ns), y));
  QTest::mouseRelease(timeline, Qt::LeftButton, Qt::NoModifier, QPoint(x_of(timeline, 8e6), y));
  ASSERT_TRUE(timeline->state().range.has_value());
  EXPECT_NEAR(static_cast<double>(timeline->state().range->begin_ns), 2e6, 2 * timeline->state().ns_per_pixel);
}

TEST_F(ManyRanks, FoundSlicesAreMarkedInTheTimelineAndInTheOverview) {
  auto* bar = page->findChild<OverviewBar*>();
  ASSERT_NE(bar, nullptr);
  const double scale = bar->devicePixelRatioF();
  const auto has_tick = [&](double ns) {
    const QImage picture = bar->grab().toImage();
    const QPointF at(std::floor(bar->x_of(ns)), 2);  // below the frame
    return picture.pixel((at * scale).toPoint()) == Theme::light().text.rgb();
  };
  EXPECT_FALSE(has_tick(7e6));
  page->search("grad_reduce_scatter");
  ASSERT_NE(timeline->state().found, nullptr);
  EXPECT_EQ(timeline->state().found->in_rank(5).size(), 3U);
  EXPECT_TRUE(has_tick(7e6));
  EXPECT_FALSE(has_tick(3e6));
  page->search("nothing_is_called_so");
  EXPECT_EQ(timeline->state().found, nullptr);
  EXPECT_FALSE(has_tick(7e6));
}

TEST_F(ManyRanks, WorstExposedShowsWaitTransferLateRankAndCause) {
  ASSERT_EQ(page->worst().columnCount(), 10);
  std::set<std::string> late_ranks;
  for (int row = 0; row < page->worst().rowCount(); ++row)
    if (page->worst().index(row, 6).data().toString() == "500.000 us")
      late_ranks.insert(page->worst().index(row, 8).data().toString().toStdString());
  EXPECT_THAT(late_ranks, testing::ElementsAre("39"));
}

class Tooltips : public Window {
 protected:
  QString tooltip_of(const std::string& name) {
    Trace trace = with_streams({"compute"});
    trace.add(slice_of(0, 0, 1000, name));
    TimelineView* timeline = opened(written("named.pftrace", trace))->timeline();
    EXPECT_TRUE(wait_until([&] { return timeline->state().ns_per_pixel < 10; }));
    const QPoint at(x_of(timeline, 500), Scene::kRulers + 40);  // the stream below the strip
    QHelpEvent help(QEvent::ToolTip, at, timeline->mapToGlobal(at));
    QApplication::sendEvent(timeline, &help);
    return QToolTip::text();
  }
};

TEST_F(Tooltips, LabelsAndShortValuesStayOnTheirLine) {
  const std::string text = tooltip_of("a kernel <of two words>").toStdString();
  EXPECT_THAT(text, testing::HasSubstr("a&nbsp;kernel&nbsp;&lt;of&nbsp;two&nbsp;words&gt;"));
  EXPECT_THAT(text, testing::HasSubstr("<td>duration&nbsp;&nbsp;</td>"));
}

TEST_F(Tooltips, VeryLongNamesLoseTheirMiddle) {
  const std::string name = "start_" + std::string(3000, 'x') + "_end";
  const QString text = tooltip_of(name);
  EXPECT_LT(text.size(), 600);
  for (const char* part : {"start_", "_end"}) EXPECT_THAT(text.toStdString(), testing::HasSubstr(part));
}

}  // namespace
}  // namespace underlap::viewer
