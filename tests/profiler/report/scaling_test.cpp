// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/scaling/scaling.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "platform/json.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

struct Size {
  std::int32_t ranks = 2;
  Backend backend = Backend::host;
  int sequences = 8;                    ///< of a step
  std::string model_layers = "4";       ///< as asked for
  std::int64_t compute_us = 600;        ///< of each rank
  std::int64_t wait_us = 100;           ///< of each rank, beside as much transfer
  std::int64_t slow_rank = -1;          ///< has 50 us more of compute, and waits for nobody
  std::int32_t ranks_on_node = 0;       ///< 0: no launcher says it
  std::string bucket_size = "1000000";  ///< that a rule decided
};

std::string plan_of(const Size& size) {
  const auto knob = [](const std::string& name, const std::string& requested, const std::string& effective) {
    return fmt::format(R"({{"name":"{}","requested":{},"effective":{}}})", name, requested, effective);
  };
  const std::string ranks = std::to_string(size.ranks), sequences = std::to_string(size.sequences);
  return fmt::format(R"({{"schema":"underlap.plan/1","knobs":[{},{},{},{},{}]}})",
                     knob("data_parallel_size", ranks, ranks),
                     knob("model.num_layers", size.model_layers, size.model_layers),
                     knob("model.seq_length", "128", "128"), knob("train.global_batch_size", sequences, sequences),
                     knob("comm_overlap.bucket_size", "null", size.bucket_size));
}

analysis::Split window_of(const Size& size, std::int32_t rank) {
  const bool is_slow = rank == size.slow_rank;
  const std::int64_t wait_us = is_slow ? 0 : size.wait_us;
  const std::int64_t compute_us = size.compute_us + (is_slow ? 50 : 0);
  analysis::Split split = split_of(compute_us, 0, wait_us + size.wait_us, 0);
  split.exposed_wait_ns = wait_us * 1000;
  split.modes["dp"].exposed_wait_ns = wait_us * 1000;
  split.modes["dp"].exposed_unsplit_ns = 0;
  split.modes["dp"].exposed_transfer_ns = size.wait_us * 1000;
  return split;
}

CellResult cell_at(const std::string& name, const Size& size) {
  CellResult cell = cell_of(name, {{"overlap", name}}, {});
  cell.num_ranks = cell.num_ranks_played = size.ranks;
  cell.plan_json = plan_of(size);
  for (std::int32_t step = 0; step < 4; ++step) {
    std::vector<analysis::Split> ranks;
    for (std::int32_t rank = 0; rank < size.ranks; ++rank) ranks.push_back(window_of(size, rank));
    cell.samples.push_back(step_of(step / 2, step, std::move(ranks)));
  }
  return cell;
}

RunResults run_at(const Size& size) {
  RunResults results;
  results.info.backend = size.backend;
  results.info.commit = "c0ffee";
  for (std::int32_t rank = 0; size.ranks_on_node > 0 && rank < size.ranks; ++rank)
    results.info.launched_ranks.push_back(
        {fmt::format("node{}", rank / size.ranks_on_node), rank % size.ranks_on_node, "0", ""});
  results.blocks_planned = results.blocks_done = 2;
  results.cells = {cell_at("off", size), cell_at("on", size)};
  return results;
}

struct NamedRun {
  std::string name;
  RunResults results;
};

ScalingReport report_of(const std::vector<NamedRun>& runs, bool is_forced = false) {
  std::vector<ScalingPoint> points;
  std::vector<std::string> notes;
  for (const NamedRun& run : runs)
    for (ScalingPoint& point : scaling_points(run.results, run.name, 1, notes)) points.push_back(std::move(point));
  return scaling_of(std::move(points), std::move(notes), is_forced);
}

std::string refusal_of(const std::vector<NamedRun>& runs) {
  return testing_support::error_of([&] { report_of(runs); });
}

TEST(Scaling, HoldsEverySizeAgainstTheSmallest) {
  const ScalingReport report =
      report_of({{"big", run_at({.ranks = 8, .sequences = 32, .compute_us = 1400})}, {"small", run_at({})}});
  ASSERT_THAT(report.cells, SizeIs(2));
  EXPECT_EQ(report.cells[0].name, "off");
  EXPECT_EQ(report.cells[0].scaling, Scaling::weak);
  ASSERT_THAT(report.cells[0].points, SizeIs(2));
  const ScaledPoint &small = report.cells[0].points[0], &big = report.cells[0].points[1];
  EXPECT_EQ(small.point.run, "small");
  EXPECT_FALSE(small.step_to_smallest);
  EXPECT_DOUBLE_EQ(*big.step_to_smallest, 2);  // 1600 us after 800
  EXPECT_DOUBLE_EQ(*big.efficiency, 0.5);      // as many sequences a rank, in twice the time
  EXPECT_DOUBLE_EQ(*big.point.tokens, 32 * 128);
  EXPECT_DOUBLE_EQ(big.point.exposed_wait_ms, 0.1);
  EXPECT_DOUBLE_EQ(big.point.exposed_transfer_ms, 0.1);
}

TEST(Scaling, OfOneBatchOverMoreRanksIsStrong) {
  const ScalingReport report = report_of({{"a", run_at({})}, {"b", run_at({.ranks = 4, .compute_us = 200})}});
  EXPECT_EQ(report.cells[0].scaling, Scaling::strong);
  EXPECT_DOUBLE_EQ(*report.cells[0].points[1].step_to_smallest, 0.5);
  EXPECT_DOUBLE_EQ(*report.cells[0].points[1].efficiency, 1);  // half the work a rank, in half the time
}

TEST(Scaling, NamesTheRankAndTheNodeThatOthersWaitFor) {
  const ScalingReport report =
      report_of({{"a", run_at({})}, {"b", run_at({.ranks = 8, .slow_rank = 5, .ranks_on_node = 2})}});
  EXPECT_FALSE(report.cells[0].points[0].point.slowest_rank) << "all are equal";
  const ScalingPoint& big = report.cells[0].points[1].point;
  ASSERT_TRUE(big.slowest_rank);
  EXPECT_EQ(big.slowest_rank->rank, 5);
  EXPECT_EQ(big.slowest_rank->node, "node2");
  EXPECT_DOUBLE_EQ(big.slowest_rank->own_ms, 0.75);
  EXPECT_DOUBLE_EQ(big.slowest_rank->share_of_steps, 1);
  ASSERT_TRUE(big.slowest_node);
  EXPECT_EQ(big.slowest_node->node, "node2");
  EXPECT_EQ(big.num_nodes, 4);
  EXPECT_DOUBLE_EQ(big.exposed_spread->least, 0.1);
  EXPECT_DOUBLE_EQ(big.exposed_spread->most, 0.2);
  EXPECT_THAT(scaling_sentences(report.cells[0]),
              ElementsAre(HasSubstr("; rank 5 on node2 is slowest in 100 % of the steps; the slowest node is node2")));
}

TEST(Scaling, NamesNoRankWhereOneStandsForOthers) {
  RunResults folded = run_at({.ranks = 4, .backend = Backend::sim, .slow_rank = 1});
  for (CellResult& cell : folded.cells) cell.num_ranks = 8;
  const ScalingReport report = report_of({{"a", run_at({.backend = Backend::sim})}, {"b", std::move(folded)}});
  const ScalingPoint& big = report.cells[0].points[1].point;
  EXPECT_EQ(big.num_ranks, 8);
  EXPECT_FALSE(big.slowest_rank);
  EXPECT_FALSE(big.num_nodes);
  EXPECT_TRUE(big.exposed_spread);
}

TEST(Scaling, MeasuredStandsBesideModelledAndIsNotMixedWithIt) {
  const ScalingReport report =
      report_of({{"m2", run_at({})},
                 {"m4", run_at({.ranks = 4, .sequences = 16, .compute_us = 1400})},
                 {"s2", run_at({.backend = Backend::sim, .compute_us = 200})},
                 {"s4", run_at({.ranks = 4, .backend = Backend::sim, .sequences = 16, .compute_us = 300})}});
  std::vector<std::string> runs;
  for (const ScaledPoint& scaled : report.cells[0].points) runs.push_back(scaled.point.run);
  EXPECT_THAT(runs, ElementsAre("m2", "s2", "m4", "s4"));
  EXPECT_DOUBLE_EQ(*report.cells[0].points[2].step_to_smallest, 2);     // of m2
  EXPECT_DOUBLE_EQ(*report.cells[0].points[3].step_to_smallest, 1.25);  // of s2
  EXPECT_DOUBLE_EQ(*report.cells[0].points[2].step_to_model, 3.2);
  EXPECT_FALSE(report.cells[0].points[3].step_to_model);
  EXPECT_THAT(scaling_sentences(report.cells[0]), ElementsAre(HasSubstr("off, measured, 2 to 4 ranks (weak scaling)"),
                                                              HasSubstr("off, modelled, 2 to 4 ranks")));
}

TEST(Scaling, OfOneRunWithItsSizesOnAnAxis) {
  RunResults run = run_at({});
  run.cells.clear();
  for (const std::int32_t ranks : {2, 8}) {
    run.cells.push_back(cell_at("off", {.ranks = ranks}));
    run.cells.back().name = fmt::format("data_parallel_size={} off", ranks);
    run.cells.back().values = {{"data_parallel_size", std::to_string(ranks)}, {"overlap", "off"}};
  }
  const ScalingReport report = report_of({{"a", std::move(run)}});
  ASSERT_THAT(report.cells, SizeIs(1));
  EXPECT_EQ(report.cells[0].name, "off");
  EXPECT_THAT(report.cells[0].points, SizeIs(2));
}

TEST(Scaling, RefusesWhatDiffersInMoreThanTheSizeUnlessForced) {
  const std::vector<NamedRun> runs{{"a", run_at({})}, {"b", run_at({.ranks = 4, .model_layers = "6"})}};
  EXPECT_THAT(refusal_of(runs),
              AllOf(HasSubstr("cell off: model.num_layers is 4 in a and 6 in b"), HasSubstr("--force")));
  const ScalingReport forced = report_of(runs, true);
  EXPECT_THAT(scaling_text(forced, {}, Details::left_out), HasSubstr("not comparable, forced: cell off: model.num"));
}

TEST(Scaling, NotesWhatARuleDecidedOtherwiseAtAnotherSize) {
  RunResults big = run_at({.ranks = 4, .bucket_size = "4000000"});
  big.info.commit = "d00d";
  const ScalingReport report = report_of({{"a", run_at({})}, {"b", std::move(big)}});
  std::vector<std::string> what;
  for (const ScalingDifference& difference : report.differences) what.push_back(difference.what);
  EXPECT_THAT(what, ElementsAre("commit", "comm_overlap.bucket_size (off)", "comm_overlap.bucket_size (on)"));
  EXPECT_THAT(scaling_text(report, {}, Details::included), HasSubstr("4000000"));
  EXPECT_THAT(scaling_text(report, {}, Details::left_out), HasSubstr("note: 3 differences other than size"));
}

TEST(Scaling, RefusesOneSizeAndOneSizeTwice) {
  EXPECT_THAT(refusal_of({{"a", run_at({})}}), HasSubstr("no cell was run at two sizes: off (2 ranks), on (2 ranks)"));
  EXPECT_THAT(refusal_of({{"a", run_at({})}, {"a", run_at({})}}), HasSubstr("a: is given twice"));
  EXPECT_THAT(refusal_of({{"a", run_at({})}, {"b", run_at({})}, {"c", run_at({.ranks = 4})}}),
              HasSubstr("a (off) and b (off) are the same cell, measured over 2 ranks"));
  EXPECT_THAT(refusal_of({{"a", run_at({})}, {"b", run_at({.backend = Backend::sim})}}), HasSubstr("at two sizes"))
      << "measured and modelled are one size here";
}

TEST(Scaling, LeavesOutACellThatFailedAndSaysSo) {
  RunResults big = run_at({.ranks = 4});
  big.cells[1].invalid_because = {"rank 3 was killed"};
  const ScalingReport report = report_of({{"a", run_at({})}, {"b", std::move(big)}});
  ASSERT_THAT(report.cells, SizeIs(1));
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("b: cell on is excluded: its times are invalid: rank 3"),
                                        "only at one size: on (2 ranks)"));
}

TEST(Scaling, OfASeriesTakesEachRunAsABlock) {
  std::vector<RunResults> runs{run_at({}), run_at({.compute_us = 800}), run_at({.compute_us = 700})};
  std::vector<std::string> notes;
  const std::vector<ScalingPoint> points = scaling_points(joined(std::move(runs), "series"), "series", 3, notes);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_DOUBLE_EQ(points[0].summary.step_ms->value, 0.9);  // of 0.8, 1.0 and 0.9
  EXPECT_EQ(points[0].summary.step_ms->blocks, 3);
  EXPECT_EQ(points[0].num_runs, 3);
  RunResults other = run_at({});
  other.cells.pop_back();
  EXPECT_THROW(joined({run_at({}), other}, "series"), std::invalid_argument);
}

TEST(Scaling, JsonAndCsvHoldWhatTheTableShows) {
  const ScalingReport report =
      report_of({{"a", run_at({})}, {"b", run_at({.ranks = 8, .sequences = 32, .slow_rank = 5, .ranks_on_node = 4})}});
  const auto json = parse_json(scaling_json(report));
  EXPECT_EQ(json["schema"], "underlap.scaling/1");
  EXPECT_EQ(json["cells"][0]["scaling"], "weak");
  const auto& point = json["cells"][0]["points"][1];
  EXPECT_EQ(point["ranks"], 8);
  EXPECT_EQ(point["nodes"], 2);
  EXPECT_EQ(point["slowest_rank"]["node"], "node1");
  EXPECT_EQ(point["modes"]["dp"]["exposed_transfer_ms"], 0.1);
  EXPECT_EQ(json["cells"][0]["points"][0]["step_to_smallest"], nullptr);
  const std::string csv = scaling_csv(report);
  EXPECT_THAT(csv, AllOf(::testing::StartsWith("cell,run,runs,times_are,ranks,"),
                         HasSubstr("\noff,b,1,measured,8,8,2,"), HasSubstr(",mode.dp.exposed_wait_ms")));
  EXPECT_THAT(
      scaling_text(report, {.width = 80}, Details::left_out),
      AllOf(HasSubstr("off       8  measured"), HasSubstr("not shown in 80 columns"), Not(HasSubstr("mode  "))));
}

}  // namespace
}  // namespace underlap::report
