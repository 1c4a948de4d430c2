// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QSortFilterProxyModel>

#include "tests/viewer/small_traces.hpp"
#include "viewer/model/figure_table_model.hpp"
#include "viewer/model/lane_arrangement.hpp"
#include "viewer/model/operation_slices.hpp"
#include "viewer/model/page_tables.hpp"
#include "viewer/model/slices_model.hpp"
#include "viewer/model/text_table_model.hpp"
#include "viewer/model/window_text.hpp"

namespace underlap::viewer {
namespace {

using testing::ElementsAre;
using namespace testing_support;  // NOLINT

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

class Lanes : public testing::Test {
 protected:
  // The places in the timeline of what stands in each row.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> lanes;
    for (const ArrangedLane& row : arrangement.lanes()) lanes.push_back(row.lane);
    return lanes;
  }

  const Trace trace = two_ranks(0);
  const Timeline timeline{trace, analysis::Summary{}, 1};
  LaneArrangement arrangement{timeline};
  QAbstractItemModelTester tester{&arrangement, kFatal};
};

TEST_F(Lanes, BeginInTheOrderOfTheTimeline) {
  std::vector<std::string> names;
  for (int row = 0; row < arrangement.rowCount(); ++row)
    names.push_back(arrangement.index(row).data().toString().toStdString());
  EXPECT_THAT(names, ElementsAre("rank 0", "rank 0 compute", "rank 0 dp", "rank 1", "rank 1 compute", "rank 1 dp"));
  EXPECT_THAT(order(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(Lanes, PinnedGoToTheTopAndBackToTheirRank) {
  arrangement.set_pinned(5, true);
  arrangement.set_pinned(2, true);
  EXPECT_THAT(order(), ElementsAre(5, 1, 0, 2, 3, 4));
  arrangement.set_pinned(0, false);
  EXPECT_THAT(order(), ElementsAre(1, 0, 2, 3, 4, 5));
}

TEST_F(Lanes, MoveAmongTheirLike) {
  arrangement.set_pinned(1, true);
  arrangement.move(0, 3);  // pinned, and alone so
  arrangement.move(1, 1);
  arrangement.move(5, 40);
  EXPECT_THAT(order(), ElementsAre(1, 2, 0, 3, 4, 5));
}

TEST_F(Lanes, AreMovedByAListThatTheyAreDraggedIn) {
  EXPECT_TRUE(arrangement.moveRow({}, 1, {}, 4));
  EXPECT_THAT(order(), ElementsAre(0, 2, 3, 1, 4, 5));
  EXPECT_TRUE(arrangement.moveRow({}, 3, {}, 1));
  EXPECT_FALSE(arrangement.moveRow({}, 3, {}, 3));
  EXPECT_FALSE(arrangement.moveRow({}, 6, {}, 0));
  EXPECT_FALSE(arrangement.moveRow({}, 0, {}, 7));
  EXPECT_THAT(order(), ElementsAre(0, 1, 2, 3, 4, 5));
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
  EXPECT_EQ(order().back(), 5U);
}

TEST_F(Lanes, OutsideTheirRowsNothingHappens) {
  arrangement.set_pinned(-1, true);
  arrangement.set_collapsed(99, true);
  arrangement.move(99, 1);
  EXPECT_FALSE(arrangement.setData(arrangement.index(99), Qt::Checked, Qt::CheckStateRole));
  EXPECT_EQ(arrangement.rowCount(), 6);
}

std::vector<std::string> visible_lanes(const LaneArrangement& arrangement) {
  std::vector<std::string> names;
  for (int row = 0; row < arrangement.rowCount(); ++row)
    if (arrangement.lanes()[static_cast<std::size_t>(row)].is_visible())
      names.push_back(arrangement.index(row).data().toString().toStdString());
  return names;
}

TEST(ManyRanks, StartCollapsedToTheirStripsAndExpandOneByOne) {
  for (const std::int32_t ranks : {7, 8}) {
    const Trace trace = ranks_of_one_group(ranks);
    const Timeline timeline(trace, analysis::Summary{}, 1);
    const LaneArrangement arrangement(timeline);
    EXPECT_EQ(visible_lanes(arrangement).size(), ranks < 8 ? 3U * 7U : 8U);
  }
  const Trace trace = ranks_of_one_group(8);
  const Timeline timeline(trace, analysis::Summary{}, 1);
  LaneArrangement arrangement(timeline);
  const QAbstractItemModelTester tester(&arrangement, kFatal);
  arrangement.set_collapsed(3, false);  // the strip of rank 1
  EXPECT_THAT(visible_lanes(arrangement), ElementsAre("rank 0", "rank 1", "rank 1 compute", "rank 1 dp", "rank 2",
                                                      "rank 3", "rank 4", "rank 5", "rank 6", "rank 7"));
  EXPECT_TRUE(arrangement.is_changed());
  LaneArrangement again(timeline);
  EXPECT_FALSE(again.is_changed());
  again.restore(arrangement.state());
  EXPECT_EQ(visible_lanes(again), visible_lanes(arrangement));
  arrangement.set_ranks_collapsed(true);
  EXPECT_EQ(visible_lanes(arrangement).size(), 8U);
  arrangement.set_ranks_collapsed(false);
  EXPECT_EQ(visible_lanes(arrangement).size(), 24U);
}

TEST(ManyRanks, PinnedLaneOfACollapsedRankStaysVisibleAndARevealedOneExpandsItsRank) {
  const Trace trace = ranks_of_one_group(8);
  const Timeline timeline(trace, analysis::Summary{}, 1);
  LaneArrangement arrangement(timeline);
  arrangement.set_pinned(5, true);
  EXPECT_EQ(visible_lanes(arrangement).front(), "rank 1 dp");
  EXPECT_EQ(visible_lanes(arrangement).size(), 9U);
  arrangement.reveal(arrangement.row_of(7));  // the compute stream of rank 2
  EXPECT_EQ(visible_lanes(arrangement).size(), 11U);
}

TEST(LaneArrangement, LeavesOutLanesWithoutContentAndPutsNewOnesAtTheirPlace) {
  Trace trace = with_streams({"compute", "empty", "dp"});
  trace.add_track({1, 0, "nothing"});
  trace.add(slice_of(0, 0, 10, "gemm"));
  trace.add(slice_of(2, 0, 10, "all_reduce", communication(Mode::dp, "grads")));
  const Timeline before(trace, analysis::Summary{}, 1);
  const LaneArrangement arrangement(before);
  EXPECT_THAT(visible_lanes(arrangement), ElementsAre("rank 0", "rank 0 compute", "rank 0 dp"));
  trace.add(slice_of(1, 20, 10, "gemm"));
  const Timeline now(trace, analysis::Summary{}, 1);
  LaneArrangement restored(now);
  restored.restore(arrangement.state());
  EXPECT_THAT(visible_lanes(restored), ElementsAre("rank 0", "rank 0 compute", "rank 0 empty", "rank 0 dp"));
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
  model.set_table({{{"name", "name"}},
                   {{"comm", "comm"},
                    {"each", "each", analysis::FigureUnit::short_time},
                    {"count", "count", analysis::FigureUnit::number}},
                   {}});
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "comm ms");
  EXPECT_EQ(model.headerData(2, Qt::Horizontal, Qt::DisplayRole).toString(), "each us");
  EXPECT_EQ(model.headerData(3, Qt::Horizontal, Qt::DisplayRole).toString(), "count");
  model.set_table({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(SlicesModel, SaysWhatWasFound) {
  const Trace trace = two_ranks(0);
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

TEST(FactsTable, PutsTheSidesOfAComparisonBesideEachOther) {
  FigureTableModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.set_table(
      facts_table({{"candidate", {{"name", "send"}, {"transfer", "1 MB"}, {"transfer", "2 MB"}, {"rank", "0"}}},
                   {"baseline", {{"name", "send"}, {"wait", "1 us"}, {"transfer", "3 MB"}, {"rank", "0"}}}}));
  std::vector<std::string> rows;
  for (int row = 0; row < model.rowCount(); ++row) {
    std::string texts;
    for (int column = 0; column < model.columnCount(); ++column)
      texts += model.index(row, column).data().toString().toStdString() + "|";
    rows.push_back(texts);
  }
  EXPECT_THAT(rows,
              ElementsAre("name|send|send|", "wait||1 us|", "transfer|1 MB|3 MB|", "transfer|2 MB||", "rank|0|0|"));
  EXPECT_EQ(model.headerData(2, Qt::Horizontal, Qt::DisplayRole).toString(), "baseline");
  model.set_table(facts_table({{"", {{"name", "gemm"}, {"layer", "3"}}}}));
  EXPECT_EQ(model.index(1, 0).data().toString(), "layer");
  EXPECT_EQ(model.index(1, 1).data().toString(), "3");
  EXPECT_EQ(model.columnCount(), 2);
}

TEST(SlicesModel, SortsByFiguresAndBackAgainAndKeepsWhatIsSelected) {
  const Trace trace = two_ranks(0);
  const Timeline timeline(trace, analysis::Summary{}, 1);
  SlicesModel model(timeline);
  const QAbstractItemModelTester tester(&model, kFatal);
  const std::vector<std::uint32_t> set{3, 0, 7, 1};  // steps 2 and 1 of rank 0, rank 1's late one, rank 0's first
  model.set_slices(set);
  const QPersistentModelIndex selected(model.index(1, 0));
  model.sort(4, Qt::DescendingOrder);  // 7 ms, 4 ms twice, 3.5 ms
  EXPECT_THAT(model.slices(), ElementsAre(0, 3, 1, 7));
  EXPECT_EQ(selected.row(), 0);
  model.sort(3, Qt::AscendingOrder);
  EXPECT_THAT(model.slices(), ElementsAre(0, 1, 7, 3));
  model.sort(5, Qt::AscendingOrder);  // what is no communication has nothing exposed
  EXPECT_EQ(model.slices().front(), 0U);
  model.set_slices({1, 0});
  EXPECT_THAT(model.slices(), ElementsAre(0, 1));
  model.sort(-1, Qt::AscendingOrder);
  EXPECT_THAT(model.slices(), ElementsAre(1, 0));
  std::vector<std::uint32_t> many(SlicesModel::kMostSorted + 1, 1);
  many.back() = 0;
  model.set_slices(many);
  model.sort(4, Qt::DescendingOrder);
  EXPECT_FALSE(model.is_sortable());
  EXPECT_EQ(model.slices().front(), 1U);
}

TEST(TextTable, SortsByFiguresInTheirUnits) {
  for (const auto& [text, figure] : {std::pair{"12.34 [12.10, 12.61]", 12.34},
                                     {"+5.2 %", 5.2},
                                     {"-0.12", -0.12},
                                     {"1.5 ms", 1.5e6},
                                     {"2.0 s", 2e9},
                                     {"1.42 (1.07)", 1.42},
                                     {"3.0 MB", 3e6}})
    EXPECT_EQ(leading_figure(text), figure) << text;
  for (const char* text : {"", "-", "reference", "pass"}) EXPECT_EQ(leading_figure(text), std::nullopt) << text;
  const Table table{{{"cell", Align::left}, {"step", Align::right}},
                    {{{"slow"}, {"1.00 s"}}, {{"fast"}, {"900.0 ms"}}, {{"not run"}, {"-"}}}};
  TextTableModel model(table);
  QSortFilterProxyModel sorted;
  sorted.setSourceModel(&model);
  sorted.setSortRole(TextTableModel::kSort);
  sorted.sort(1);
  QStringList names;
  for (int row = 0; row < 3; ++row) names << sorted.index(row, 0).data().toString();
  EXPECT_EQ(names.last(), "not run");
  EXPECT_LT(names.indexOf("fast"), names.indexOf("slow"));
}

TEST(TextTable, ColorsTextsByTheirStyle) {
  TextTableModel model(Table{{{"verdict", Align::left}}, {{{"regression", Style::bad}}, {{"pass"}}}});
  EXPECT_FALSE(model.index(0, 0).data(Qt::ForegroundRole).isValid());
  model.set_colors({Qt::green, Qt::red, Qt::gray});
  EXPECT_EQ(model.index(0, 0).data(Qt::ForegroundRole).value<QColor>(), QColor(Qt::red));
  EXPECT_FALSE(model.index(1, 0).data(Qt::ForegroundRole).isValid());
}

TEST(WindowText, LeavesOutAdviceWithOptions) {
  EXPECT_EQ(window_text("2 of 3 blocks (half) are done\n  finish it: underlap run x --resume"),
            "2 of 3 blocks (half) are done");
  EXPECT_EQ(window_text("not known (assign it: --mode-map)."), "not known.");
  EXPECT_EQ(window_text("needs 9 GB (a GPU has 8) (--layers 4 fits)\n  use fewer layers"),
            "needs 9 GB (a GPU has 8)\n  use fewer layers");
  // Commands that record a trace stay, and so do names.
  for (const char* text : {"a report; export it: nsys export --type=sqlite FILE", "folder/a--b (c--d): empty", ""})
    EXPECT_EQ(window_text(text), text);
}

// Two ranks, two steps of 100; each has two sends of one name on two streams, the second rank's a little later.
Trace two_streams() {
  Trace trace;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t forth = trace.add_track({rank, 0, "forth"}), back = trace.add_track({rank, 1, "back"});
    trace.marks.push_back({rank, 0, 0, 0});
    for (std::int32_t step = 1; step <= 2; ++step) {
      const std::int64_t begin = 100 * (step - 1) + 2 * rank;
      trace.add(slice_of(forth, begin + 10, 10, "send", communication(Mode::pp, "send", step)));
      trace.add(slice_of(back, begin + 30, 10, "send", communication(Mode::pp, "send", step)));
      trace.add(slice_of(back, begin + 50, 5, "copy", {.kind = Kind::copy, .purpose = intern("send")}));
      trace.marks.push_back({rank, 0, step, 100 * step});
    }
  }
  return trace;
}

TEST(OperationSlices, AreOfTheStepTheStreamTheKindAndTheRank) {
  const Trace trace = two_streams();
  const Timeline timeline(trace, analysis::summarize(trace), 1);
  ASSERT_EQ(timeline.steps().size(), 4U);
  compare::NetOperation operation;
  operation.name = operation.purpose = "send";
  operation.kind = "communication";
  operation.mode = "pp";
  operation.stream = "back";
  const auto begin_of = [&](int nth, std::optional<std::int32_t> rank = {}) {
    const std::uint32_t slice = first_slice_of(timeline, nth, operation, rank);
    return slice == Timeline::kNoSlice ? -1 : trace.start_ns()[slice];
  };
  EXPECT_EQ(begin_of(0), 30);
  EXPECT_EQ(begin_of(1), 130);
  EXPECT_EQ(begin_of(1, 1), 132);
  EXPECT_EQ(begin_of(2), -1);  // no step has that number
  operation.stream = "elsewhere";
  EXPECT_EQ(begin_of(0), 10);
  operation.mode = "dp";
  EXPECT_EQ(begin_of(0), -1);
  operation.mode = "";
  operation.kind = "copy";
  EXPECT_EQ(begin_of(0), 50);
}

TEST(OperationSlices, CounterpartIsTheSameOfItsKindInTheStepOfTheRank) {
  const Trace trace = two_streams();
  Trace other = two_streams();
  other.add(slice_of(0, 190, 1, "added"));
  const Timeline here(trace, analysis::summarize(trace), 1), there(other, analysis::summarize(other), 1);
  for (std::uint32_t slice = 0; slice < trace.size(); ++slice) {
    const std::uint32_t found = counterpart_of(here, slice, there);
    ASSERT_NE(found, Timeline::kNoSlice) << slice;
    EXPECT_EQ(there.begin_ns(found), here.begin_ns(slice));
    EXPECT_EQ(other.track_of(found).rank, trace.track_of(slice).rank);
    EXPECT_EQ(other.tag(found), trace.tag(slice));
  }
  EXPECT_EQ(counterpart_of(there, static_cast<std::uint32_t>(other.size()) - 1, here), Timeline::kNoSlice);
  const auto alike = alike_in_step(here, 4);  // the second step's second send of rank 0
  ASSERT_TRUE(alike.has_value());
  EXPECT_EQ(alike->nth_step, 1);
  EXPECT_EQ(alike->slices.size(), 2U);
  EXPECT_EQ(alike->index, 1U);
}

// Rank 1 arrives half a millisecond late at a reduce-scatter of 4 ms, since its kernel takes longer.
TEST(SlicesModel, ShowsWaitTransferLateRankAndCauseWithASummary) {
  Trace trace;
  trace.add_group({intern("dp"), {0, 1}});
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t compute = trace.add_track({rank, 0, "compute"}), dp = trace.add_track({rank, 1, "dp"});
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t begin = 20'000'000 * i, late = rank == 1 && i == 2 ? 500'000 : 0;
      trace.add(slice_of(compute, begin, 7'000'000 + late, "gemm"));
      trace.add(slice_of(dp, begin + 7'000'000 + late, 4'000'000 - late, "reduce_scatter",
                         communication(Mode::dp, "grad_reduce_scatter")),
                {.group = 0,
                 .sequence = static_cast<std::uint64_t>(i),
                 .last_arrival_ns = begin + 7'000'000 + (i == 2 ? 500'000 : 0),
                 .transfers = {{.collective = Collective::reduce_scatter, .bytes = 1 << 20}}});
    }
  }
  analysis::Summary summary = analysis::match_and_summarize(trace, {});
  ASSERT_TRUE(summary.waits.has_value());
  const std::uint32_t waiting = 5;  // of rank 0, the third
  summary.reasons.communications.emplace_back().slice = 1;
  summary.reasons.communications.back().reason = analysis::ExposureReason::late_launch;
  summary.reasons.communications.emplace_back().slice = waiting;
  summary.reasons.communications.back().reason = analysis::ExposureReason::late_rank;
  const Timeline timeline(trace, summary, 1);
  SlicesModel model(timeline, nullptr, &summary);
  const QAbstractItemModelTester tester(&model, kFatal);
  model.set_slices({1, waiting, 0});
  const auto row = [&](int i) {
    std::vector<std::string> texts;
    for (int column = 5; column < model.columnCount(); ++column)
      texts.push_back(model.index(i, column).data().toString().toStdString());
    return texts;
  };
  EXPECT_THAT(row(0), ElementsAre("4.000 ms", "0", "4.000 ms", "", "the host launches it late"));
  EXPECT_THAT(row(1), ElementsAre("4.000 ms", "500.000 us", "3.500 ms", "1", "late rank: longer kernels"));
  EXPECT_THAT(row(2), ElementsAre("", "", "", "", ""));
  EXPECT_EQ(model.headerData(8, Qt::Horizontal, Qt::DisplayRole).toString(), "late rank");
  model.sort(6, Qt::DescendingOrder);
  EXPECT_EQ(model.slices().front(), waiting);
  EXPECT_EQ(SlicesModel(timeline).columnCount(), 6);
}

}  // namespace
}  // namespace underlap::viewer
