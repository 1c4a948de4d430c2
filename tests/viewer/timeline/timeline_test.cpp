// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/timeline.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "profiler/analysis/details/trace_details.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/watch.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/timeline/found_slices.hpp"
#include "viewer/timeline/lane_pairs.hpp"
#include "viewer/timeline/selection.hpp"
#include "viewer/timeline/slice_facts.hpp"
#include "viewer/timeline/slice_search.hpp"

namespace underlap::viewer {
namespace {

using namespace testing_support;  // NOLINT

constexpr std::int64_t kLate = 1'700'000'000'000'000'000;  // a Unix clock: no double holds its nanoseconds

// Two ranks: a gather that is late on rank 1, and a call that holds another.
Trace small_trace() {
  Trace trace;
  trace.add_track({0, 7, "compute"});
  trace.add_track({0, 8, "dp"});
  trace.add_track({1, 7, "compute"});
  trace.add_track({1, 8, "dp"});
  trace.add_track({0, 1, "python", TrackKind::thread});
  trace.add_group({intern("param_all_gather"), {0, 1}});
  trace.add(slice_of(0, kLate, 100, "gemm"));
  trace.add(slice_of(1, kLate + 50, 100, "all_gather", communication(Mode::dp, "param_all_gather")),
            {.group = 0,
             .last_arrival_ns = kLate + 120,
             .transfers = {{.collective = Collective::all_gather, .bytes = 1000}}});
  trace.add(slice_of(2, kLate, 120, "gemm"));
  trace.add(slice_of(3, kLate + 120, 30, "all_gather", communication(Mode::dp, "param_all_gather")),
            {.group = 0,
             .last_arrival_ns = kLate + 120,
             .transfers = {{.collective = Collective::all_gather, .bytes = 1000}}});
  trace.add(slice_of(4, kLate, 60, "step", kNoWork));
  trace.add(slice_of(4, kLate + 10, 20, "launch", kNoWork));
  return trace;
}

class SmallTimeline : public testing::Test {
 protected:
  const Trace trace = small_trace();
  const Timeline timeline{trace, {}, 1};
};

TEST_F(SmallTimeline, CountsTimeFromTheFirstWorkInWholeNanoseconds) {
  EXPECT_EQ(timeline.length_ns(), 150);
  EXPECT_EQ(timeline.begin_ns(1), 50);
  EXPECT_EQ(timeline.end_ns(1), 150);
}

TEST_F(SmallTimeline, RankHasItsStripThenStreamsThenCalls) {
  std::vector<std::string> lanes;
  for (const Lane& lane : timeline.lanes()) lanes.push_back(lane.name + " " + std::to_string(lane.rows.size()));
  EXPECT_THAT(lanes,
              testing::ElementsAre("rank 0 1", "compute 1", "dp 1", "python 2", "rank 1 1", "compute 1", "dp 1"));
}

TEST(Timeline, TakesOffsetsOfClocksOff) {
  const Trace trace = small_trace();
  analysis::Summary summary;
  summary.communications.emplace();
  summary.communications->alignment.offset_ns = {{0, 0}, {1, 25}};
  const Timeline timeline(trace, summary, 1);
  EXPECT_EQ(timeline.begin_ns(2), 0);  // 25 before rank 0's first
  EXPECT_EQ(timeline.begin_ns(0), 25);
  EXPECT_EQ(timeline.begin_ns(3), 120);
  EXPECT_EQ(timeline.trace_ns_of(1, 120), kLate + 120);
}

TEST_F(SmallTimeline, FindsTheSliceAtAMomentAndItsPlace) {
  const LaneRow& row = timeline.lanes()[2].rows.front();
  EXPECT_EQ(timeline.slice_at(row, 49), Timeline::kNoSlice);
  EXPECT_EQ(timeline.slice_at(row, 50), 1U);
  EXPECT_EQ(timeline.slice_at(row, 149), 1U);
  EXPECT_EQ(timeline.slice_at(row, 150), Timeline::kNoSlice);
  EXPECT_EQ(timeline.place_of(5).lane_index, 3U);
  EXPECT_EQ(timeline.place_of(5).row, 1U);
}

TEST(Timeline, EverySliceHasItsPlaceOnce) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const Trace trace = underlap::testing_support::random_trace(random, {.num_slices = 100, .is_foreign = true});
    const Timeline timeline(trace, analysis::Summary{}, 2);
    std::multiset<std::uint32_t> placed;
    for (const Lane& lane : timeline.lanes())
      for (const LaneRow& row : lane.rows) placed.insert(row.slices.begin(), row.slices.end());
    ASSERT_EQ(placed.size(), trace.size());
    for (std::uint32_t slice = 0; slice < trace.size(); ++slice) {
      EXPECT_EQ(placed.count(slice), 1U);
      ASSERT_NE(timeline.place_of(slice).lane, nullptr);
    }
  }
}

// One rank, two blocks of two steps of 10, with a warm-up of 10 before each and a tail of 3; `pause` between them.
struct Blocks {
  Trace trace;
  analysis::Summary summary;
  Blocks(std::int64_t pause, std::int32_t second_block) {
    trace.add_track({0, 7, "compute"});
    for (const std::int64_t begin : {kLate, kLate + 33 + pause})
      for (std::int64_t at = begin; at < begin + 33; at += 3) trace.add(slice_of(0, at, 3, "gemm"));
    summary.has_steps = true;
    analysis::RankSummary& rank = summary.ranks.emplace_back();
    rank.rank = 0;
    for (const auto& [block, begin] : {std::pair{0, kLate}, std::pair{second_block, kLate + 33 + pause}})
      for (const std::int32_t step : {1, 2})
        rank.windows.push_back({.rank = 0,
                                .block = block,
                                .step = step,
                                .begin_ns = begin + 10 * step,
                                .end_ns = begin + 10 * (step + 1)});
  }
};

TEST(Timeline, WorkBesideStepsIsNotCountedAndOnceWhereNoPauseIsBetween) {
  const Blocks made(500, 1);
  const Timeline timeline(made.trace, made.summary, 1);
  ASSERT_EQ(timeline.steps().size(), 4U);
  EXPECT_EQ(timeline.uncounted(), (std::vector<TimeRange>{{0, 10}, {30, 33}, {533, 543}, {563, 566}}));
  const Blocks close(4, 1);
  const Timeline without_pause(close.trace, close.summary, 1);
  EXPECT_EQ(without_pause.uncounted(), (std::vector<TimeRange>{{0, 10}, {30, 47}, {67, 70}}));
}

TEST(Timeline, OpensWithTheFirstBlockAndWithAllWhereThereIsOne) {
  const Blocks two(500, 1), one(500, 0);
  EXPECT_EQ(Timeline(two.trace, two.summary, 1).opening(), (TimeRange{10, 30}));
  EXPECT_EQ(Timeline(one.trace, one.summary, 1).opening(), (TimeRange{0, 566}));
  const Trace without_steps = small_trace();
  EXPECT_EQ(Timeline(without_steps, analysis::Summary{}, 1).opening(), (TimeRange{0, 150}));
}

TEST_F(SmallTimeline, FindsByNamePurposeModePlaceAndExposure) {
  const auto found = [&](const char* text) { return find_slices(timeline, parse_query(text)); };
  using Slices = std::vector<std::uint32_t>;
  for (const char* gemms : {"GEMM", "stream:comp"}) EXPECT_EQ(found(gemms), (Slices{0, 2})) << gemms;
  for (const char* gathers : {"param_all", "mode:dp", "exposed gather"})
    EXPECT_EQ(found(gathers), (Slices{1, 3})) << gathers;
  for (const char* nothing : {"mode:tp", "gemm gather", ""}) EXPECT_EQ(found(nothing), Slices{}) << nothing;
  EXPECT_EQ(found("kind:none"), (Slices{4, 5}));
  EXPECT_EQ(found("rank:1"), (Slices{2, 3}));
  EXPECT_EQ(found("rank:0 stream:DP"), Slices{1});
  EXPECT_EQ(found("exposed rank:1"), Slices{3});
}

TEST(Search, RefusesAModeOrRankThatIsNone) {
  EXPECT_EQ(underlap::testing_support::error_of([] { parse_query("mode:ddp"); }),
            "mode:ddp is not a mode; use dp, tp, pp, cp, ep, fsdp, other or unattributed");
  for (const char* none : {"rank:x", "rank:-1", "rank:", "rank:3x", "rank:99999999999"})
    EXPECT_THROW(parse_query(none), std::invalid_argument) << none;
}

TEST_F(SmallTimeline, GoesOnInOrderOfTime) {
  const auto alike = find_alike(timeline, 1);
  EXPECT_EQ(alike, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(next_of(timeline, alike, 1, Towards::later), 3U);
  EXPECT_EQ(next_of(timeline, alike, 3, Towards::later), Timeline::kNoSlice);
  EXPECT_EQ(next_of(timeline, alike, 3, Towards::earlier), 1U);
  EXPECT_EQ(next_of(timeline, alike, 1, Towards::later, 0), Timeline::kNoSlice);
}

TEST_F(SmallTimeline, PutsTheWorstExposedFirst) {
  const auto worst = worst_exposed(timeline, 10);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].slice, 1U);
  EXPECT_EQ(worst[0].exposed_ns(), 50);
  EXPECT_EQ(worst[0].wait_ns, 20);
  EXPECT_EQ(worst[1].exposed_ns(), 30);
}

// Two gathers alike, of which the longer one is before the first step.
TEST(Search, WorstExposedAreThoseOfSteps) {
  Trace trace = with_streams({"dp"});
  trace.add(slice_of(0, 0, 100, "all_gather", communication(Mode::dp, "param_all_gather")));
  trace.add(slice_of(0, 200, 50, "all_gather", communication(Mode::dp, "param_all_gather")));
  trace.marks = {{0, 0, 0, 150}, {0, 0, 1, 300}};
  const analysis::Summary summary = analysis::summarize(trace);
  ASSERT_TRUE(summary.shows_steps());
  const auto worst = worst_exposed(Timeline(trace, summary, 1), 10);
  ASSERT_EQ(worst.size(), 1U);
  EXPECT_EQ(worst[0].slice, 1U);
}

// Asked between the stages, a watch ends a reading at any of them.
TEST(Timeline, SummaryAndLayoutEndWhereTheyAreCancelled) {
  int stages = 0;
  for (bool was_cancelled = true; was_cancelled; ++stages) {
    was_cancelled = false;
    Trace trace = small_trace();
    underlap::testing_support::Watch watch(static_cast<std::size_t>(stages) + 1);
    try {
      const analysis::Summary summary = analysis::match_and_summarize(trace, {}, Reading(watch));
      const Timeline timeline(trace, summary, 2, Reading(watch));
    } catch (const Cancelled&) {
      was_cancelled = true;
    }
  }
  EXPECT_GE(stages, 4);
}

// Both tables of a selection are means of the ranks.
TEST_F(SmallTimeline, CountsAndTimesOfNamesAreMeansOfTheRanks) {
  const Selection selection = select(timeline, 0, timeline.length_ns());
  ASSERT_EQ(selection.ranks.size(), 2U);
  for (const analysis::FigureRow& row : names_of(selection, 10).rows) {
    if (row.names.front() != "gemm") continue;
    EXPECT_EQ(row.figures[0], 1.0);    // one on either rank
    EXPECT_EQ(row.figures[1], 110.0);  // of 100 and 120
    EXPECT_EQ(row.figures[2], 110.0);
    EXPECT_EQ(parts_of(selection).rows.front().figures.front(), 110.0);
    return;
  }
  FAIL() << "no gemm";
}

TEST_F(SmallTimeline, SelectionOfOneRankHasItsFiguresAlone) {
  const Selection selection = select(timeline, 0, timeline.length_ns(), 1);
  ASSERT_EQ(selection.ranks.size(), 1U);
  EXPECT_EQ(selection.ranks.front().rank, 1);
  EXPECT_EQ(parts_of(selection).rows.front().figures.front(), 120.0);
  const auto names = names_of(selection, 10);
  ASSERT_EQ(names.rows.size(), 2U);
  EXPECT_EQ(names.rows.front().names.front(), "gemm");
  EXPECT_EQ(names.rows.front().figures[1], 120.0);
}

TEST_F(SmallTimeline, FoundSlicesArePlacedInTheirRowsAndRanks) {
  const FoundSlices found(timeline, {0, 3, 5});
  const auto is = [](std::int64_t begin, std::int64_t end) { return TimeRange{begin, end}; };
  EXPECT_THAT(found.in_row(1, 0), testing::ElementsAre(is(0, 100)));
  EXPECT_THAT(found.in_row(3, 1), testing::ElementsAre(is(10, 30)));
  EXPECT_THAT(found.in_row(2, 0), testing::IsEmpty());
  EXPECT_THAT(found.in_rank(0), testing::ElementsAre(is(0, 100)));
  EXPECT_THAT(found.in_rank(1), testing::ElementsAre(is(120, 150)));
  EXPECT_THAT(found.starts_ns(), testing::ElementsAre(0, 10, 120));
  EXPECT_THAT(FoundSlices(timeline, {4, 5}).in_rank(0), testing::ElementsAre(is(0, 60)));  // calls alone
}

Trace of_streams(std::int32_t rank, const char* compute, const char* dp, const char* tp) {
  Trace trace;
  trace.add(slice_of(trace.add_track({rank, 0, compute}), 0, 100, "gemm"));
  trace.add(slice_of(trace.add_track({rank, 1, dp}), 0, 100, "all_reduce", communication(Mode::dp, "grads")));
  trace.add(slice_of(trace.add_track({rank, 2, tp}), 0, 100, "all_gather", communication(Mode::tp, "tokens")));
  return trace;
}

// Lanes are: strip, compute, dp, tp.
TEST(LanePairs, AreByNameOrElseByRole) {
  const Trace own = of_streams(0, "compute", "dp", "tp");
  const Timeline timeline(own, analysis::Summary{}, 1);
  const auto pairs_with = [&](const Trace& other) {
    return lane_pairs(timeline, Timeline(other, analysis::Summary{}, 1));
  };
  using Pairs = std::map<std::size_t, std::size_t>;
  EXPECT_EQ(pairs_with(of_streams(0, "compute", "dp", "tp")), (Pairs{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(pairs_with(of_streams(4, "stream 7", "tp", "dp")), (Pairs{{0, 0}, {1, 1}, {2, 3}, {3, 2}}));
  EXPECT_EQ(pairs_with(of_streams(4, "7", "20", "24")), (Pairs{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  Trace less;
  less.add(slice_of(less.add_track({0, 9, "7"}), 0, 100, "gemm"));
  EXPECT_EQ(pairs_with(less), (Pairs{{0, 0}, {1, 1}}));
}

TEST(Timeline, RangesBesideAStreamOfTheirNameAreCalledSo) {
  Trace trace;
  trace.add(slice_of(trace.add_track({0, 7, "stream 7"}), 0, 100, "gemm"));
  trace.add(slice_of(trace.add_track({0, 7, "stream 7", TrackKind::range}), 0, 100, "layer", kNoWork));
  trace.add(slice_of(trace.add_track({0, 8, "steps", TrackKind::range}), 0, 100, "step", kNoWork));
  const Timeline timeline(trace, {}, 1);
  const auto named = [](const char* name) { return testing::Field(&Lane::name, name); };
  EXPECT_THAT(timeline.lanes(),
              testing::ElementsAre(named("rank 0"), named("stream 7"), named("ranges: stream 7"), named("steps")));
}

TEST(Selection, IsTheSplitOfTheAnalysisOfThatTime) {
  std::mt19937 random(12);
  for (int round = 0; round < 100; ++round) {
    const Trace trace =
        underlap::testing_support::random_trace(random, {.num_slices = 120, .is_foreign = round % 2 == 0});
    const Timeline timeline(trace, {}, 1);
    std::uniform_int_distribution<std::int64_t> any(0, timeline.length_ns());
    std::int64_t begin = any(random), end = any(random);
    if (begin > end) std::swap(begin, end);
    const Selection selection = select(timeline, begin, end);
    for (const SelectedRank& selected : selection.ranks) {
      const analysis::Split split =
          analysis::split_window(trace, {selected.rank, -1, -1, timeline.trace_ns_of(selected.rank, begin),
                                         timeline.trace_ns_of(selected.rank, end)});
      EXPECT_EQ(selected.split, split) << "round " << round << " rank " << selected.rank;
    }
  }
}

// One collective of 100 of which no arrival is known, and one of another mode of which one is.
TEST(Selection, SaysNothingOfWaitsWhereNoArrivalIsKnown) {
  Trace trace = with_streams({"dp"});
  trace.add(slice_of(0, 0, 100, "all_reduce", communication(Mode::dp, "grads")));
  Trace more = trace;
  more.add_group({intern("tp"), {0, 1}});
  more.add(slice_of(0, 100, 50, "all_gather", communication(Mode::tp, "tokens")),
           {.group = 0, .sequence = 1, .last_arrival_ns = 120, .transfers = {}});
  const Timeline before(trace, analysis::Summary{}, 1), now(more, analysis::Summary{}, 1);
  const Selection baseline = select(before, 0, 100), candidate = select(now, 0, 150);
  const auto figures = [](const analysis::FigureTable& table, const std::string& name) {
    const auto row = std::ranges::find(table.rows, std::vector{name}, &analysis::FigureRow::names);
    return row == table.rows.end() ? std::vector<std::optional<double>>() : row->figures;
  };
  using Figures = std::vector<std::optional<double>>;
  EXPECT_EQ(figures(parts_of(candidate), "  dp"), (Figures{100, 0, 100, std::nullopt, std::nullopt, 0}));
  EXPECT_EQ(figures(parts_of(candidate), "  tp"), (Figures{50, 0, 50, 20, 30, 0}));
  const analysis::FigureTable change = parts_change(baseline, candidate);
  EXPECT_EQ(figures(change, "communication"), (Figures{100, 150, 50}));
  EXPECT_EQ(figures(change, "    dp exposed"), (Figures{100, 100, 0}));
  EXPECT_EQ(figures(change, "    dp wait"), (Figures{std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(figures(change, "    tp wait"), (Figures{0, 20, 20}));  // the baseline has no tp
  EXPECT_EQ(figures(change, "  communication wait"), (Figures{std::nullopt, 20, std::nullopt}));
}

std::string value_of(const std::vector<Fact>& facts, const std::string& label) {
  for (const Fact& fact : facts)
    if (fact.label == label) return fact.value;
  return "";
}

TEST(SliceFacts, SayWhatIsExposedForWhomItWaitedAndWhatWouldHideIt) {
  Trace trace = small_trace();
  trace.metadata["overlap_knobs"] = kOverlapKnobs;
  const Timeline timeline(trace, {}, 1);
  const std::vector<Fact> facts = facts_of(timeline, analysis::Summary{}, 1);
  EXPECT_EQ(value_of(facts, "duration"), "100 ns");
  EXPECT_EQ(value_of(facts, "exposed"), "50 ns (50.0 %)");
  EXPECT_EQ(value_of(facts, "hidden"), "50 ns (50.0 %)");
  EXPECT_EQ(value_of(facts, "exposed wait"), "20 ns (20.0 %)");
  EXPECT_EQ(value_of(facts, "would be hidden by"), "comm_overlap.overlap_param_gather");
  EXPECT_EQ(value_of(facts, "rate including waits"), "10.00 GB/s algorithm, 5.00 GB/s bus");
  EXPECT_EQ(value_of(facts, "group"), "ranks 0, 1");
}

TEST(SliceFacts, NameNoKnobThatIsOnAndNoneForWaiting) {
  Trace trace = small_trace();
  trace.metadata["overlap_knobs"] = kOverlapKnobs;
  const auto said = [&](const std::string& label = "would be hidden by") {
    const Timeline timeline(trace, {}, 1);
    return value_of(facts_of(timeline, analysis::Summary{}, 1), label);
  };
  trace.metadata["knobs"] = R"({"comm_overlap.overlap_param_gather":"false"})";
  EXPECT_EQ(said(), "comm_overlap.overlap_param_gather");
  trace.metadata["knobs"] = R"({"comm_overlap.overlap_param_gather":"true"})";
  EXPECT_EQ(said(), "");
  EXPECT_EQ(said("exposed although"), "comm_overlap.overlap_param_gather is on");
  trace.metadata["knobs"] = "no json";
  EXPECT_EQ(said(), "comm_overlap.overlap_param_gather");
  trace.metadata["overlap_knobs"] = "no json";
  EXPECT_EQ(said(), "") << "a trace that names no knob has none";

  // Both ranks idle, and the gather waits for 90 of its 100 until the other comes.
  Trace waits;
  waits.metadata["overlap_knobs"] = kOverlapKnobs;
  for (std::int32_t rank = 0; rank < 2; ++rank) waits.add_track({rank, 0, "dp"});
  waits.add_group({intern("param_all_gather"), {0, 1}});
  for (const std::uint32_t rank : {0U, 1U})
    waits.add(slice_of(rank, 90 * rank, 100 - 90 * rank, "all_gather", communication(Mode::dp, "param_all_gather")),
              {.group = 0, .sequence = 1, .last_arrival_ns = 90, .transfers = {}});
  const analysis::Summary summary = analysis::match_and_summarize(waits, {});
  const Timeline timeline(waits, summary, 1);
  EXPECT_EQ(value_of(facts_of(timeline, summary, 0), "would be hidden by"),
            "no overlap: nearly all of it is a wait for rank 1");
  EXPECT_EQ(value_of(facts_of(timeline, summary, 1), "would be hidden by"), "comm_overlap.overlap_param_gather");
}

// Rank 1 computes for 90000 of what rank 0 does in 10000.
TEST(SliceFacts, SayInWordsWhyARankCameLast) {
  Trace trace;
  trace.add_group({intern("param_all_gather"), {0, 1}});
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t compute = trace.add_track({rank, 0, "compute"}), dp = trace.add_track({rank, 1, "dp"});
    const std::int64_t busy = rank == 0 ? 10'000 : 90'000;
    trace.add(slice_of(compute, 0, busy, "gemm"));
    trace.add(slice_of(dp, busy, 100'000 - busy, "all_gather", communication(Mode::dp, "param_all_gather")),
              {.group = 0, .sequence = 1, .last_arrival_ns = 90'000, .transfers = {}});
  }
  const analysis::Summary summary = analysis::match_and_summarize(trace, {});
  const Timeline timeline(trace, summary, 1);
  const std::vector<Fact> facts = facts_of(timeline, summary, 1);
  EXPECT_EQ(value_of(facts, "because of"), "rank 1, whose kernels took longer: 80.000 us more, most in gemm");
  // As labels and lists have it.
  EXPECT_EQ(value_of(facts, "name"), "param_all_gather");
  EXPECT_EQ(value_of(facts, "recorded as"), "all_gather");
  EXPECT_EQ(value_of(short_facts_of(timeline, 1), "name"), "param_all_gather");
  EXPECT_EQ(value_of(facts_of(timeline, summary, 0), "recorded as"), "");
}

// Four launches of one kernel: alone for 100 and 110, beside a gather for 150, and for 130 with a third of it beside.
TEST(SliceFacts, SayHowMuchCommunicationSlowedAKernel) {
  Trace trace = with_streams({"compute", "dp"});
  trace.add(slice_of(0, 0, 100, "gemm"));
  trace.add(slice_of(0, 200, 110, "gemm"));
  trace.add(slice_of(0, 400, 150, "gemm"));
  trace.add(slice_of(0, 600, 130, "gemm"));
  trace.add(slice_of(0, 800, 70, "softmax"));
  trace.add(slice_of(1, 390, 140, "all_gather", communication(Mode::dp, "param_all_gather")));
  trace.add(slice_of(1, 690, 200, "all_gather", communication(Mode::dp, "param_all_gather")));
  const Timeline timeline(trace, {}, 1);
  const auto said = [&](std::uint32_t slice, const char* label) {
    return value_of(facts_of(timeline, analysis::Summary{}, slice), label);
  };
  EXPECT_EQ(said(2, "during communication"), "130 ns (86.7 %)");
  EXPECT_EQ(said(2, "slowdown"), "1.43 times 105 ns, the median of 2 launches alone");
  EXPECT_EQ(said(0, "slowdown"), "");
  EXPECT_EQ(said(3, "slowdown"), "");  // a third is too little to call it slowed
  EXPECT_EQ(said(4, "slowdown"), "unknown: no launch of this kernel and shape on this rank ran alone");
  EXPECT_EQ(said(5, "slowdown"), "");
  const analysis::SlowedCompute whole = analysis::find_slowed_compute(trace);
  ASSERT_EQ(whole.kernels.size(), 1U);
  EXPECT_EQ(whole.kernels.front().median_alone_ns, 105);
  EXPECT_EQ(whole.kernels.front().alone, 2);
}

TEST(SliceFacts, SayWhatARankDoesAtAMoment) {
  Trace trace = with_streams({"compute", "dp", "tp"}, 3);
  trace.add(slice_of(0, 0, 1000, "gemm"));
  trace.add(slice_of(1, 200, 800, "all_reduce", communication(Mode::dp, "grads")));
  trace.add(slice_of(2, 300, 100, "all_gather", communication(Mode::tp, "tokens")));
  trace.add(slice_of(1, 1500, 500, "all_reduce", communication(Mode::dp, "grads")));
  const Timeline timeline(trace, {}, 1);
  const auto said = [&](std::int64_t time_ns) {
    std::string all;
    for (const Fact& fact : strip_facts_of(timeline, 3, time_ns)) all += fact.label + " " + fact.value + "; ";
    return all;
  };
  EXPECT_EQ(said(100), "rank 3; does compute; duration 200 ns; ");
  EXPECT_EQ(said(350), "rank 3; does hidden; modes dp+tp; duration 100 ns; ");
  EXPECT_EQ(said(1200), "rank 3; does nothing; ");
  EXPECT_EQ(said(1500), "rank 3; does exposed; modes dp; duration 500 ns; ");
  EXPECT_EQ(said(5000), "rank 3; does nothing; ");
}

}  // namespace
}  // namespace underlap::viewer
