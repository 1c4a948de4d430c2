// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <gmock/gmock.h>

#include "profiler/compare/compare_page.hpp"
#include "tests/profiler/compare/steps.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::compare {
namespace {

using namespace ::testing;  // NOLINT
using namespace report;     // NOLINT
using testing_support::error_of;

CompareReport report_of(const Steps& from, const Steps& to) {
  CompareReport report{.from = "before", .to = "after"};
  Comparison& comparison = report.comparisons.emplace_back();
  comparison.change = change_of(from, to);
  const auto windows = static_cast<double>(comparison.change->windows);
  comparison.from_step_ns = static_cast<double>(comparison.change->from.window_ns) / windows;
  comparison.to_step_ns = static_cast<double>(comparison.change->to.window_ns) / windows;
  return report;
}

std::string text_of(const CompareReport& report, int width = 200) {
  return compare_text(report, {.width = width}, Details::largest);
}

// Reductions of a million nanoseconds and more, one bucket after the other, in a step that lasts as long as they do.
Steps buckets(std::int32_t count, std::int64_t each_ns) {
  std::vector<Work> work;
  for (std::int32_t bucket = 0; bucket < count; ++bucket)
    work.push_back({"reduce", bucket * each_ns, (bucket + 1) * each_ns, Kind::communication, 1, -1, bucket});
  work.push_back({"fc1", count * each_ns, count * each_ns + 1000});
  return Steps().add(0, 2, work, true, count * each_ns + 1000);
}

TEST(CompareReport, TellsOfBucketsThatAreFewerOnBalance) {
  const std::string text = text_of(report_of(buckets(14, 1'000'000), buckets(8, 2'000'000)));
  EXPECT_THAT(text, AllOf(HasSubstr("; reduce grew most, +2.000 ms"), HasSubstr("14 -> 8 (6 removed)"),
                          Not(HasSubstr("reduce (removed)"))));
}

// `layers` layers of a million nanoseconds each, those from `first` on longer by half.
Steps layers(std::int32_t layers, std::int32_t first) {
  std::vector<Work> work;
  std::int64_t now = 0;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    const std::int64_t end = now + (layer < first ? 1'000'000 : 1'500'000);
    work.push_back({"fc1", now, end, Kind::compute, 0, layer});
    now = end;
  }
  return Steps().add(0, 2, work, true, now);
}

TEST(CompareReport, NamesTheLayersThatChanged) {
  const CompareReport report = report_of(layers(40, 40), layers(40, 30));
  const std::string text = text_of(report, 80);
  EXPECT_THAT(sentence_of(report.comparisons[0]), HasSubstr("; fc1 of layers 30-39 grew most, +5.000 ms"));
  EXPECT_THAT(text, AllOf(HasSubstr("\nfc1, layers 30-39 "), HasSubstr(" s0 "), Not(HasSubstr("layers 0-"))));
  const std::string whole = text_of(report_of(layers(40, 40), layers(40, 0)));
  EXPECT_THAT(whole, AllOf(HasSubstr("; fc1 grew most, +20.00 ms"), HasSubstr("\nfc1, layers 0-39 ")));
}

TEST(CompareReport, NamesNoChangeThatItsDigitsDoNotShow) {
  const CompareReport report = report_of(Steps().add(0, 2, {{"fc1", 0, 5'000'000}}, true, 5'000'000),
                                         Steps().add(0, 2, {{"fc1", 0, 5'000'300}}, true, 5'000'300));
  EXPECT_EQ(sentence_of(report.comparisons[0]), "the step takes the same time, 5.000 ms");
  EXPECT_THAT(text_of(report), AllOf(HasSubstr(" 0.000"), Not(HasSubstr("+0.000"))));
}

TEST(CompareReport, SumsByStreamAndPurpose) {
  const Steps before = Steps().add(0, 2, {{"fc1", 0, 400}, {"reduce", 300, 600, Kind::communication, 1}});
  const Steps after =
      Steps().add(0, 2, {{"fc1", 0, 450}, {"fc2", 450, 500}, {"reduce", 300, 800, Kind::communication, 1}});
  const CompareReport report = report_of(before, after);
  const std::string text = compare_text(report, {.width = 80}, Details::all);
  EXPECT_THAT(text, AllOf(HasSubstr("\nby stream "), HasSubstr("\nby purpose ")));
  const auto sums = [&](std::string OperationChange::*what) {
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (const StepSum& sum : sums_by(report.comparisons[0].change->operations, what))
      found.emplace_back(sum.name, sum.step_delta_ns());
    return found;
  };
  using ::testing::Pair;
  EXPECT_THAT(sums(&OperationChange::stream), ElementsAre(Pair("idle", -400), Pair("s0", 200), Pair("s1", 200)));
  EXPECT_THAT(sums(&OperationChange::purpose),
              ElementsAre(Pair("idle", -400), Pair("reduce", 200), Pair("fc1", 100), Pair("fc2", 100)));
}

TEST(CompareReport, SplitsWaitAndTransferByMode) {
  CompareReport report = report_of(layers(1, 0), layers(1, 1));
  TraceChange& change = *report.comparisons[0].change;
  change.from.modes["dp"] = {.exposed_ns = 4'000'000, .exposed_wait_ns = 3'000'000, .exposed_transfer_ns = 1'000'000};
  change.from.modes["tp"] = {.exposed_ns = 2'000'000, .exposed_unsplit_ns = 2'000'000};
  EXPECT_THAT(text_of(report), AllOf(HasSubstr("dp exposed wait  "), HasSubstr("dp exposed transfer  "),
                                     Not(HasSubstr("dp exposed not split")), Not(HasSubstr("tp exposed "))));
}

TEST(CompareReport, ShortensNamesOfKernelsInTheTerminalAndInMarkdown) {
  const std::string name = "void at::native::vectorized_elementwise_kernel<4, at::native::";
  const std::string arguments = "Functor<float>, at::detail::Array<char*, 3> >(int, at::detail::Array<char*, 3>)";
  const auto steps = [&](std::int64_t longer) {
    return Steps().add(
        0, 1, {{name + "Add" + arguments, 0, 100 + longer}, {name + "Fill" + arguments, 200, 350 + longer}}, false);
  };
  const CompareReport report = report_of(steps(0), steps(20));
  EXPECT_THAT(text_of(report, 80), AllOf(HasSubstr("\nvectorized_e...AddFunctor<float>"), HasSubstr(" s0 "),
                                         HasSubstr("\nvectorized_e...FillFunctor<float>")));
  EXPECT_THAT(compare_markdown(report),
              AllOf(HasSubstr("\n| vectorized_e...AddFunctor\\<float>, at: |"), Not(HasSubstr("elementwise"))));
  EXPECT_THAT(compare_html(report, {}), HasSubstr("title=\"void at::native::vectorized_elementwise_kernel&lt;4, "));
}

TEST(ComparePage, ShowsBothSidesThenTheAnswerThenWhereTheDifferenceWent) {
  CompareReport report = report_of(buckets(14, 1'000'000), buckets(8, 2'000'000));
  report.from = "<before>";
  const std::string page = compare_html(report, {{"command", "underlap compare"}});
  std::size_t last = 0;
  for (const char* part : {"<p class=\"found\">The step takes", "&lt;before&gt;", "<h2>Where the difference went</h2>",
                           "class=\"more\"", "<h2>Communication by mode</h2>", "dp baseline", "dp candidate",
                           "<h2>Operations</h2>", "<h2>Terms</h2>", "underlap compare"}) {
    const std::size_t at = page.find(part, last);
    ASSERT_NE(at, std::string::npos) << part;
    last = at;
  }
  EXPECT_THAT(page, Not(HasSubstr("<before>")));
}

TEST(ComparePage, HasASectionAndALinkForEachCell) {
  CompareReport report = report_of(layers(4, 4), layers(4, 2));
  report.comparisons.front().name = "off";
  report.comparisons.push_back(report.comparisons.front());
  report.comparisons.back().name = "\"on\"";
  report.comparisons.back().change.reset();
  const std::string page = compare_html(report, {});
  EXPECT_THAT(page, AllOf(HasSubstr("<a href=\"#cell-1\">&quot;on&quot;</a>"), HasSubstr("id=\"cell-1\""),
                          HasSubstr("A side has no trace: only the steps can be compared.")));
}

TEST(CompareReport, CountsOneWindowAsOne) {
  const Steps one = Steps().add(0, 1, {{"fc1", 0, 500}}), other = Steps().add(0, 1, {{"fc1", 0, 600}});
  EXPECT_THAT(text_of(report_of(one, other)), HasSubstr("\n1 window of each side"));
}

// Of layers from 0 on.
std::vector<LayerRange> ranges_of(const std::vector<std::int64_t>& deltas) {
  std::vector<LayerChange> layers;
  for (const std::int64_t delta : deltas) layers.push_back({static_cast<std::int32_t>(layers.size()), delta});
  return alike_ranges(layers);
}

TEST(LayerRanges, HoldLayersThatChangedAlike) {
  EXPECT_THAT(ranges_of({}), IsEmpty());
  EXPECT_THAT(ranges_of({0, 0, 0, 0}), ElementsAre(LayerRange{0, 3}));
  EXPECT_THAT(ranges_of({100, 150, 200, 120}), ElementsAre(LayerRange{0, 3}));
  EXPECT_THAT(ranges_of({0, 0, 500, 600}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  EXPECT_THAT(ranges_of({-500, -500, 500, 600}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  // What is small beside the largest is none, of either sign.
  EXPECT_THAT(ranges_of({90, -90, 10'000, 10'000}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  // A step from one to the next of less than a factor of two adds up to more.
  EXPECT_THAT(ranges_of({100, 150, 220}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 2}));
}

TEST(LayerRanges, AreOneWhereChangesScatter) {
  EXPECT_THAT(ranges_of({10, -20, 30, -10}), ElementsAre(LayerRange{0, 3}));
  std::vector<std::int64_t> deltas(40, 0);
  for (std::size_t i = 10; i < 20; ++i) deltas[i] = 1000;
  EXPECT_THAT(ranges_of(deltas), ElementsAre(LayerRange{0, 9}, LayerRange{10, 19}, LayerRange{20, 39}));
  for (std::size_t i = 0; i < 40; i += 2) deltas[i] = -500;
  EXPECT_THAT(ranges_of(deltas), ElementsAre(LayerRange{0, 39}));
}

TEST(ShortNames, AreWholeWhereTheyFitAndElseCutInTheMiddle) {
  EXPECT_EQ(short_name("fc1_fprop"), "fc1_fprop");
  EXPECT_EQ(short_name("void gemm<float, 4>(float*, int)"), "gemm<float, 4>(float*, int)");
  EXPECT_EQ(short_name("Memcpy HtoD (Pinned -> Device)"), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::scan<float, 4>(float*, float const*, long)"),
            "scan<float, 4>");
  EXPECT_EQ(short_name("split_embedding_backward_codegen_rowwise_kernel<float, Half, 64>(long)"),
            "split_embedding_...loat, Half, 64>");
  EXPECT_EQ(short_name("at::native::", 8).size(), 8U);
  EXPECT_EQ(short_name(")("), ")(");
}

TEST(ShortNames, BesideEachOtherAreNeverEqual) {
  const std::string before = "void at::native::vectorized_elementwise_kernel<4, at::native::",
                    after = "<float>, at::detail::Array<char*, 3> >(int, at::detail::Array<char*, 3>)";
  EXPECT_THAT(short_names({{before + "AddFunctor" + after}, {before + "FillFunctor" + after}, {"fc1"}, {"fc1"}}),
              ElementsAre("vectorized_e...AddFunctor<float>, ", "vectorized_e...FillFunctor<float>,", "fc1", "fc1"));
  std::vector<LongName> four;
  for (const char* per : {"cta", "warp"})
    for (const char* size : {"2ul", "5ul"})
      four.push_back(
          {"split_embedding_kernel_" + std::string(per) + "_per_row_1<float, float, " + size + ">(long)", 27});
  EXPECT_THAT(short_names(four), ElementsAre("split_embed...cta_p...2ul>(", "split_embed...cta_p...5ul>(",
                                             "split_embed...warp_...2ul>(", "split_embed...warp_...5ul>("));
  const auto numbered = short_names({{before + "A" + after, 12}, {before + "B" + after, 12}});
  EXPECT_THAT(numbered, ElementsAre(testing::SizeIs(12), testing::SizeIs(12)));
  EXPECT_NE(numbered[0], numbered[1]);
  const std::string word(100, 'a');
  EXPECT_THAT(short_names({{word + "b" + word}, {word + "c" + word}}),
              ElementsAre("aaaaaaaaaaaa...baaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaa...caaaaaaaaaaaaaaaaaa"));
}

// One kernel of `length_ns` in each of two steps of 1000 ns, or the same without marks.
Trace trace_of(std::int64_t length_ns, bool has_steps = true) {
  Trace trace;
  trace.add_track({.rank = 0, .stream = 0, .name = "compute"});
  for (std::int32_t step = 0; has_steps && step <= 2; ++step)
    trace.marks.push_back({.rank = 0, .block = 0, .step = step, .time_ns = step * 1000});
  for (std::int32_t step = 0; step < 2; ++step)
    trace.add(testing_support::slice_of(0, 1000 * step, length_ns, "gemm", {.purpose = intern("fc1")}));
  return trace;
}

CompareReport report_of(const Trace& from, const Trace& to, bool is_forced = false) {
  const analysis::Summary of_from = analysis::summarize(from), of_to = analysis::summarize(to);
  return report_of_traces({"a", {from, of_from}}, {"b", {to, of_to}}, is_forced);
}

TEST(ReportOfTraces, ComparesTheirSteps) {
  const CompareReport report = report_of(trace_of(400), trace_of(500));
  EXPECT_EQ(report.from, "a");
  EXPECT_EQ(report.to, "b");
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("did the same work is unknown")));
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_EQ(report.comparisons[0].from_step_ns, 1000);
  ASSERT_TRUE(report.comparisons[0].change);
  EXPECT_EQ(report.comparisons[0].change->windows, 2);
}

TEST(ReportOfTraces, EqualTracesDifferInNothing) {
  const CompareReport report = report_of(trace_of(400), trace_of(400));
  EXPECT_EQ(report.comparisons.at(0).delta_ns(), 0);
  for (const StepPart& part : parts_of(*report.comparisons.at(0).change)) EXPECT_EQ(part.delta_ns().value_or(0), 0);
}

TEST(ReportOfTraces, TypicalStepsLeaveOutWhatStalled) {
  const auto with_steps = [](std::vector<std::int64_t> ends_ns) {
    Trace trace = trace_of(400);
    trace.marks.clear();
    for (std::size_t step = 0; step < ends_ns.size(); ++step)
      trace.marks.push_back({.rank = 0, .block = 0, .step = static_cast<std::int32_t>(step), .time_ns = ends_ns[step]});
    return trace;
  };
  const CompareReport report = report_of(with_steps({0, 1000, 2000, 3000}), with_steps({0, 1000, 91000, 92000, 93000}));
  EXPECT_EQ(report.comparisons.at(0).from_step_ns, 1000);
  EXPECT_EQ(report.comparisons.at(0).to_step_ns, 1000);
  EXPECT_EQ(report.comparisons.at(0).change->to.window_ns, 2000) << "steps 1 and 3: 2 stalled, and 4 is not in both";
}

TEST(ReportOfTraces, RefusesOtherWorkUnlessItIsForced) {
  Trace other = trace_of(400);
  Trace one = trace_of(400);
  one.metadata["backend"] = "host";
  other.metadata["backend"] = "sim";
  EXPECT_THAT(error_of([&] { report_of(one, other); }), HasSubstr("use --force to compare anyway"));
  EXPECT_THAT(report_of(one, other, true).forced, HasSubstr("backend"));
}

TEST(ReportOfTraces, RefusesStepsAgainstAWholeTraceEvenWhereItIsForced) {
  EXPECT_THAT(error_of([] { report_of(trace_of(400), trace_of(400, false), true); }),
              HasSubstr("b: no steps were found, but a has steps"));
  EXPECT_THAT(error_of([] { report_of(trace_of(400, false), trace_of(400), true); }),
              HasSubstr("a: no steps were found, but b has steps"));
}

TEST(ReportOfTraces, ComparesWholeTracesWhereNeitherShowsStepsAndSaysSo) {
  const CompareReport report = report_of(trace_of(400, false), trace_of(500, false));
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("did the same work is unknown"), HasSubstr("no steps were found")));
  EXPECT_EQ(report.comparisons.at(0).from_step_ns, 1400);
}

ComparedRun run_of(const std::string& name, const std::vector<std::string>& cells, std::int64_t compute_us,
                   const std::string& layers = "4") {
  ComparedRun run;
  run.results.info.started_utc = name;
  run.results.blocks_planned = run.results.blocks_done = 1;
  for (const std::string& cell : cells) {
    run.results.cells.push_back(cell_of(cell, {}, {step_of(0, 1, {split_of(compute_us, 20, 10, 20)})}));
    run.results.cells.back().plan_json = R"({"knobs":[{"name":"model.num_layers","effective":)" + layers + "}]}";
  }
  run.figures = figures_of(run.results, name);
  return run;
}

std::optional<TraceChange> no_traces(const report::CellResult&, const report::CellResult&) { return std::nullopt; }

TEST(ReportOfRuns, ComparesCellsThatBothHaveAndNotesOthers) {
  const CompareReport report =
      report_of_runs(run_of("a", {"off", "on"}, 50), run_of("b", {"on", "both"}, 60), false, no_traces);
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_EQ(report.comparisons[0].name, "on");
  EXPECT_EQ(report.comparisons[0].delta_ns(), 10e3);
  EXPECT_THAT(report.notes, ElementsAre("cell off is only in a", "cell both is only in b",
                                        HasSubstr("only median steps are compared")));
}

TEST(ReportOfRuns, TakesTypicalStepsFromTheRunsAndTheirPartsFromTheTraces) {
  TraceChange change;
  change.windows = 2;
  change.from.window_ns = 2000;
  change.to.window_ns = 2400;
  std::vector<std::string> asked;
  const auto change_of = [&](const report::CellResult& from, const report::CellResult& to) {
    asked.push_back(from.name + " " + to.name);
    return std::optional(change);
  };
  const CompareReport report = report_of_runs(run_of("a", {"on"}, 50), run_of("b", {"on"}, 60), false, change_of);
  EXPECT_THAT(asked, ElementsAre("on on"));
  EXPECT_EQ(report.comparisons.at(0).delta_ns(), 10e3);
  EXPECT_EQ(report.comparisons.at(0).change->to.window_ns, 2400);
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST(ReportOfRuns, RefusesOtherWorkUnlessItIsForcedAndRunsWithoutACommonCell) {
  const ComparedRun one = run_of("a", {"on"}, 50), other = run_of("b", {"on"}, 60, "8");
  EXPECT_THAT(
      error_of([&] { report_of_runs(one, other, false, no_traces); }),
      HasSubstr("model.num_layers is 4 in the baseline and 8 in the candidate\n  the sides are not comparable"));
  EXPECT_THAT(report_of_runs(one, other, true, no_traces).forced, HasSubstr("model.num_layers"));
  EXPECT_THAT(error_of([&] { report_of_runs(one, run_of("b", {"off"}, 60), false, no_traces); }),
              HasSubstr("a and b have no cell in common"));
}

TEST(ReportOfCells, ComparesTwoOfOneRun) {
  const ComparedRun run = run_of("a", {"off", "on"}, 50);
  const CompareReport report = report_of_cells(run, "off", "on", false, no_traces);
  EXPECT_EQ(report.from, "off");
  EXPECT_EQ(report.comparisons.at(0).name, "off -> on");
  EXPECT_EQ(report_of_cells(run, "on", "on", false, no_traces).comparisons.at(0).delta_ns(), 0);
  EXPECT_THAT(error_of([&] { report_of_cells(run, "on", "both", false, no_traces); }),
              HasSubstr("a has no cell \"both\"; it has: off, on"));
}

}  // namespace

}  // namespace underlap::compare
