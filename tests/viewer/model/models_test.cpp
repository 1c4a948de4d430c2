// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <string>
#include <vector>

#include "tests/viewer/small_traces.hpp"
#include "viewer/model/facts_model.hpp"
#include "viewer/model/figure_table_model.hpp"
#include "viewer/model/lane_arrangement.hpp"
#include "viewer/model/slices_model.hpp"

namespace underlap::viewer {
namespace {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

class Lanes : public testing::Test {
 protected:
  std::vector<std::string> order() const {
    std::vector<std::string> names;
    for (int row = 0; row < arrangement.rowCount(); ++row)
      names.push_back(arrangement.index(row).data().toString().toStdString());
    return names;
  }

  const Trace trace = testing_support::two_ranks(0);
  const Timeline timeline{trace, analysis::Summary{}, 1};
  LaneArrangement arrangement{timeline};
  QAbstractItemModelTester tester{&arrangement, kFatal};
};

TEST_F(Lanes, BeginInTheOrderOfTheTimeline) {
  EXPECT_THAT(order(),
              testing::ElementsAre("rank 0", "rank 0 compute", "rank 0 dp", "rank 1", "rank 1 compute", "rank 1 dp"));
}

TEST_F(Lanes, PinnedGoToTheTopAndBackToTheirRank) {
  arrangement.set_pinned(5, true);
  arrangement.set_pinned(2, true);
  EXPECT_THAT(order(),
              testing::ElementsAre("rank 1 dp", "rank 0 compute", "rank 0", "rank 0 dp", "rank 1", "rank 1 compute"));
  arrangement.set_pinned(0, false);
  EXPECT_THAT(order(),
              testing::ElementsAre("rank 0 compute", "rank 0", "rank 0 dp", "rank 1", "rank 1 compute", "rank 1 dp"));
}

TEST_F(Lanes, MoveAmongTheirLike) {
  arrangement.set_pinned(1, true);
  arrangement.move(0, 3);  // pinned, and alone so
  arrangement.move(1, 1);
  arrangement.move(5, 40);
  EXPECT_THAT(order(),
              testing::ElementsAre("rank 0 compute", "rank 0 dp", "rank 0", "rank 1", "rank 1 compute", "rank 1 dp"));
}

TEST_F(Lanes, AreArrangedAgainAsTheyWereKept) {
  arrangement.set_pinned(4, true);
  arrangement.set_collapsed(1, true);
  arrangement.set_shown(3, false);
  LaneArrangement again(timeline);
  const QAbstractItemModelTester tester_of_again(&again, kFatal);
  again.restore(arrangement.state());
  EXPECT_EQ(again.state(), arrangement.state());
  arrangement.reset();
  EXPECT_NE(again.state(), arrangement.state());
}

TEST_F(Lanes, PassOverWhatIsNoLongerThere) {
  QJsonObject state = arrangement.state();
  QJsonArray lanes = state["lanes"].toArray();
  lanes.prepend(QJsonObject{{"lane", "9/1/gone"}, {"pinned", true}});
  lanes.removeLast();
  state["lanes"] = lanes;
  arrangement.restore(state);
  EXPECT_EQ(arrangement.rowCount(), 6);
  EXPECT_EQ(order().back(), "rank 1 dp");
}

TEST_F(Lanes, OutsideTheirRowsNothingHappens) {
  arrangement.set_pinned(-1, true);
  arrangement.set_collapsed(99, true);
  arrangement.move(99, 1);
  EXPECT_FALSE(arrangement.setData(arrangement.index(99), true, LaneArrangement::kPinned));
  EXPECT_EQ(arrangement.rowCount(), 6);
}

TEST(FigureTableModel, ShowsUnitsAndSortsByFigures) {
  FigureTableModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.set_table({{{"name", "name"}},
                   {{"time ms", "time"}, {"share %", "share", analysis::FigureUnit::percent}},
                   {{{"a"}, {1'234'567.0, 12.34}}, {{"b"}, {std::nullopt, 0.0}}}});
  EXPECT_EQ(model.index(0, 1).data().toString(), "1.235");
  EXPECT_EQ(model.index(0, 2).data().toString(), "12.3");
  EXPECT_EQ(model.index(1, 1).data().toString(), "");
  EXPECT_EQ(model.index(0, 1).data(FigureTableModel::kSort).toDouble(), 1'234'567.0);
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "time ms");
  model.set_table({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(SlicesModel, SaysWhatWasFound) {
  const Trace trace = testing_support::two_ranks(0);
  const Timeline timeline(trace, analysis::Summary{}, 1);
  SlicesModel model(timeline);
  const QAbstractItemModelTester tester(&model, kFatal);
  model.set_slices({1, 0});
  EXPECT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.index(0, 0).data().toString(), "grad_reduce_scatter");
  EXPECT_EQ(model.index(0, 4).data().toString(), "4.000 ms");
  EXPECT_EQ(model.index(0, 5).data().toString(), "4.000 ms");
  EXPECT_EQ(model.index(1, 5).data().toString(), "");
  EXPECT_EQ(model.index(0, 0).data(SlicesModel::kSlice).toUInt(), 1U);
}

TEST(FactsModel, HasALabelAndAValueARow) {
  FactsModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.set_facts({{"name", "gemm"}, {"layer", "3"}});
  EXPECT_EQ(model.index(1, 0).data().toString(), "layer");
  EXPECT_EQ(model.index(1, 1).data().toString(), "3");
}

}  // namespace
}  // namespace underlap::viewer
