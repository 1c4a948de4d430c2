// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/analysis.hpp"
#include "platform/json.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/error_of.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::analysis {
namespace {

using ::testing::HasSubstr;
using namespace testing_support;  // NOLINT
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMs = 1'000'000;

// Two steps of 10 ms on one rank; the gather is exposed for 1 ms in the first and 2 ms in the second.
//   compute | #########  ######## |
//   dp      |!==        !!==      |
Trace two_steps(bool arrivals_known = true) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add_track({0, 1, "dp"});
  trace.add_group({intern("param_all_gather"), {0, 1}});
  for (std::int32_t step = 1; step <= 2; ++step) {
    const std::int64_t begin = (step - 1) * 10 * kMs;
    trace.add(slice_of(1, begin, (step + 2) * kMs, "", communication(Mode::dp, "param_all_gather")),
              {.last_arrival_ns = arrivals_known ? begin + kMs / 2 : -1, .transfers = {{.bytes_on_wire = 1000}}});
    trace.add(slice_of(0, begin + step * kMs, (10 - step) * kMs));
  }
  trace.marks = {{0, 0, 0, 0}, {0, 0, 1, 10 * kMs}, {0, 0, 2, 20 * kMs}};
  trace.metadata["link"] = "real";
  return trace;
}

Json json_of(const Trace& trace) { return parse_json(analysis_json(trace, summarize(trace))); }

TEST(AnalysisJson, DoesNotSayThatNobodyWaitedWhereNoArrivalIsKnown) {
  const Json rank = json_of(two_steps(false))["ranks"][0];
  EXPECT_EQ(rank["exposed_us"], 3000);
  EXPECT_EQ(rank["exposed_unsplit_us"], 3000);
  EXPECT_TRUE(rank["exposed_wait_us"].is_null());
  EXPECT_TRUE(rank["exposed_transfer_us"].is_null());
  EXPECT_TRUE(rank["modes"]["dp"]["exposed_wait_us"].is_null());
  EXPECT_TRUE(rank["steps"]["exposed_wait_us"].is_null());
  const Trace trace = two_steps(false);
  EXPECT_THAT(analysis_table(trace, summarize(trace), {.width = 120}), ::testing::Not(HasSubstr("exp. wait")));
}

TEST(AnalysisJson, SumsOverTheMeasuredSteps) {
  const Json json = json_of(two_steps());
  EXPECT_EQ(json["schema"], "underlap.analysis/1");
  const Json& rank = json["ranks"][0];
  EXPECT_EQ(rank["span_us"], 20000);
  EXPECT_EQ(rank["comm_us"], 7000);
  EXPECT_EQ(rank["exposed_us"], 3000);
  EXPECT_EQ(rank["exposed_wait_us"], 1000);
  EXPECT_EQ(rank["exposed_transfer_us"], 2000);
  EXPECT_EQ(rank["compute_us"], 17000);
  EXPECT_EQ(rank["idle_us"], 0);
  EXPECT_EQ(rank["comm_kernels"], 2);
  EXPECT_EQ(rank["compute_kernels"], 2);
  EXPECT_DOUBLE_EQ(rank["overlap_pct"].get<double>(), 400.0 / 7);
  EXPECT_EQ(rank["modes"]["dp"]["exposed_us"], 3000);
  EXPECT_EQ(rank["modes"]["dp"]["bytes_on_wire"], 2000);
  EXPECT_EQ(rank["purposes"]["param_all_gather"]["hidden_us"], 4000);
  EXPECT_EQ(json["source"]["link"], "real");
}

TEST(AnalysisJson, CountsNoKernelThatEndsBeforeTheFirstWindow) {
  Trace trace = two_steps();
  trace.add(slice_of(0, -kMs, kMs));
  trace.add(slice_of(1, -2 * kMs, kMs, "", {.kind = Kind::communication}));
  const Json rank = json_of(trace)["ranks"][0];
  EXPECT_EQ(rank["compute_kernels"], 2);
  EXPECT_EQ(rank["comm_kernels"], 2);
  EXPECT_FALSE(rank["modes"].contains("unattributed"));
}

TEST(AnalysisJson, GivesTheMedianStep) {
  const Json steps = json_of(two_steps())["ranks"][0]["steps"];
  EXPECT_EQ(steps["count"], 2);
  EXPECT_EQ(steps["window_us"], 10000);
  EXPECT_EQ(steps["exposed_us"], 1500);
  EXPECT_EQ(steps["compute_only_us"], 6500);
  EXPECT_EQ(steps["compute_us"], 8500);
  EXPECT_EQ(steps["comm_us"], 3500);
  ASSERT_EQ(steps["each"].size(), 2U);
  EXPECT_EQ(steps["each"][1]["step"], 2);
  EXPECT_EQ(steps["each"][1]["exposed_us"], 2000);
  const Json gather = json_of(two_steps())["ranks"][0]["purposes"]["param_all_gather"]["steps"];
  EXPECT_EQ(gather["exposed_us"], 1500);
  EXPECT_EQ(gather["count"], 1);
}

TEST(AnalysisJson, TakesTheSpanOfTheSlicesWhereThereAreNoMarks) {
  Trace trace = two_steps();
  trace.marks.clear();
  const Json rank = json_of(trace)["ranks"][0];
  EXPECT_EQ(rank["span_us"], 20000);
  EXPECT_EQ(rank["exposed_us"], 3000);
  EXPECT_TRUE(rank["steps"].is_null());
}

TEST(AnalysisJson, WhatIsNotKnownIsNull) {
  Trace trace;
  trace.add_track({3, 0, "compute"});
  trace.add(slice_of(0, 0, 10));
  const Json json = json_of(trace);
  EXPECT_TRUE(json["ranks"][0]["overlap_pct"].is_null());
  EXPECT_TRUE(json["clock"]["residual_us"].is_null());
  EXPECT_TRUE(json["source"]["backend"].is_null());
  EXPECT_EQ(json["ranks"][0]["rank"], 3);
}

TEST(AnalysisJson, UntaggedCommunicationIsUnattributed) {
  Trace trace;
  trace.add_track({0, 0, "comm"});
  trace.add(slice_of(0, 0, 10, "", {.kind = Kind::communication}));
  const Json rank = json_of(trace)["ranks"][0];
  EXPECT_EQ(rank["modes"]["unattributed"]["comm_us"], 0.01);
  EXPECT_EQ(rank["exposed_by_modes_us"]["unattributed"], 0.01);
}

TEST(AnalysisJson, CarriesWhatWasSkippedAndWhichMarksAreWrong) {
  Trace trace = two_steps();
  trace.import = {.events = 7, .skipped = {{"truncated packet", 1}}};
  trace.marks.push_back({0, 0, 2, 30 * kMs});
  const Json json = json_of(trace);
  EXPECT_EQ(json["import"]["events"], 7);
  EXPECT_EQ(json["import"]["skipped"]["truncated packet"], 1);
  EXPECT_THAT(json["window_errors"][0].get<std::string>(), HasSubstr("repeats step 2"));
  EXPECT_EQ(json["ranks"][0]["span_us"], 0);
}

TEST(AnalysisTable, ShowsAMedianStep) {
  const Trace trace = two_steps();
  const std::string table = analysis_table(trace, summarize(trace), {.width = 80});
  EXPECT_EQ(table,
            "A step takes 10.00 ms (median of 2 steps).\n"
            "1.500 ms (15 %) is exposed communication, all of it dp.\n"
            "All of it is param_all_gather; 33 % of the exposed time is waiting.\n"
            "\n"
            "Milliseconds per step: median of 2 steps\n"
            "\n"
            "rank    step  compute   comm  exposed  overlap  exp. wait  exp. xfer   idle\n"
            "---------------------------------------------------------------------------\n"
            "0     10.000    8.500  3.500    1.500   57.1 %      0.500      1.000  0.000\n");
}

TEST(AnalysisTable, ShowsTheRestWhereItIsAskedFor) {
  const Trace trace = two_steps();
  const std::vector<Breakdown> asked{Breakdown::mode, Breakdown::purpose};
  const std::string table = analysis_table(trace, summarize(trace), {.width = 80}, asked);
  EXPECT_THAT(table,
              ::testing::EndsWith("\nCommunication in milliseconds, rank 0\n"
                                  "\n"
                                  "mode          count   comm  exposed  overlap  exp. wait  exp. xfer  wire MB\n"
                                  "---------------------------------------------------------------------------\n"
                                  "dp                1  3.500    1.500   57.1 %      0.500      1.000    0.001\n"
                                  "unattributed      0  0.000    0.000        -      0.000      0.000        -\n"
                                  "\nCommunication in milliseconds, rank 0\n"
                                  "\n"
                                  "purpose           count   comm  exposed  overlap  exp. wait  exp. xfer  wire MB\n"
                                  "-------------------------------------------------------------------------------\n"
                                  "param_all_gather      1  3.500    1.500   57.1 %      0.500      1.000    0.001\n"
                                  "unattributed          0  0.000    0.000        -      0.000      0.000        -\n"));
}

TEST(AnalysisTable, ShowsOfManyRanksTheirMeanAndBothEnds) {
  Trace trace;
  for (std::int32_t rank = 0; rank < 20; ++rank) {
    const std::uint32_t track = trace.add_track({rank, 0, "dp"});
    trace.add(slice_of(track, 0, rank * kMs, "", {.kind = Kind::communication}));
    trace.marks.insert(trace.marks.end(), {{rank, 0, 0, 0}, {rank, 0, 1, 20 * kMs}});
  }
  const std::string table = analysis_table(trace, summarize(trace), {.width = 80});
  for (const char* words : {"\n0     20.000", "\n19    20.000", "\nmean  20.000    0.000   9.500"})
    EXPECT_THAT(table, HasSubstr(words));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("\n7 ")));
  EXPECT_THAT(table, HasSubstr("Showing the least and most exposed of 20 ranks; --by rank shows all."));
}

TEST(AnalysisTable, SaysWhereNothingCommunicatesOrNothingIsMeasured) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add(slice_of(0, 0, 10));
  const std::string table = analysis_table(trace, summarize(trace), {});
  EXPECT_THAT(table, HasSubstr("\nNo communication was found.\n"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("exposed"))) << "no column of zeros";
  trace.marks = {{0, 0, 1, 5}};
  EXPECT_THAT(analysis_table(trace, summarize(trace), {}), HasSubstr("no measured step"));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}

// 52 columns: a label of 14, three of frame, 35 cells for 10 ms.
TEST(TextTimeline, DrawsWhatEachStreamDoes) {
  const auto lines = lines_of(text_timeline(two_steps(), {.block = 0, .step = 2, .width = 52}));
  EXPECT_EQ(lines[1], "rank 0 compute |       ############################|");
  EXPECT_EQ(lines[2], "rank 0 dp      |!!!!!!!=======                     |");
  EXPECT_THAT(lines[0], ::testing::EndsWith("10 ms"));
  EXPECT_EQ(lines[0].size(), 51U);
  EXPECT_THAT(lines[4], HasSubstr("exposed 2.000 ms"));
}

TEST(TextTimeline, ExposedTimeNeverVanishes) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add_track({0, 1, "dp"});
  trace.add(slice_of(0, 0, 5 * kMs));
  trace.add(slice_of(1, 5 * kMs, 1, "", {.kind = Kind::communication}));
  trace.add(slice_of(0, 8 * kMs, 1));
  trace.marks = {{0, 0, 0, 0}, {0, 0, 1, 10 * kMs}};
  const auto lines = lines_of(text_timeline(trace, {.block = 0, .step = 1, .width = 40}));
  EXPECT_EQ(std::count(lines[2].begin(), lines[2].end(), '!'), 1);
  EXPECT_EQ(lines[1].find('#', 30), std::string::npos) << "a short kernel does not fill its cell: " << lines[1];
  EXPECT_NE(lines[1].find(':', 30), std::string::npos) << "nor is its cell blank: " << lines[1];
  EXPECT_EQ(lines[4], ": work in less than half of the column");
}

TEST(TextTimeline, LeavesOutStreamsThatRanNothingInTheStep) {
  Trace trace = two_steps();
  const TimelineRequest request{.block = 0, .step = 2, .width = 52};
  const std::string without = text_timeline(trace, request);
  const std::uint32_t other = trace.add_track({.rank = 0, .stream = 9, .name = "idle"});
  trace.add(slice_of(other, 2 * kMs, kMs));
  EXPECT_EQ(text_timeline(trace, request), without);
}

TEST(TextTimeline, NamesTheStepsThatThereAre) {
  EXPECT_THAT(error_of([] { text_timeline(two_steps(), {.block = 0, .step = 9}); }), HasSubstr("0/1 0/2"));
  EXPECT_THROW(text_timeline(two_steps(), {.block = 0, .step = 1, .width = 39}), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::analysis
