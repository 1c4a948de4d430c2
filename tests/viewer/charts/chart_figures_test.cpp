// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/details/trace_details.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/viewer/charts/chart_inputs.hpp"

namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using namespace ::testing;  // NOLINT

FigureTable table_of(std::string_view chart, const ChartInput& input) { return make_chart(chart, input).figures.table; }

std::optional<double> figure(const FigureTable& table, const FigureRow& row, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].key == key) return row.figures[i];
  throw std::out_of_range(key);
}

// The first row whose names begin so.
const FigureRow& row_of(const FigureTable& table, const std::vector<std::string>& names) {
  for (const FigureRow& row : table.rows)
    if (std::equal(names.begin(), names.end(), row.names.begin())) return row;
  throw std::out_of_range(names.front());
}

std::string refusal(std::string_view chart, const ChartInput& input) {
  return underlap::testing_support::error_of([&] { make_chart(chart, input); });
}

constexpr const char* kOff = "off grad_reduce_in_fp32=true";
constexpr const char* kBoth = "both grad_reduce_in_fp32=true";

// 27.17 and 9.52 ms stand in results/quick/paced/report.md.
TEST(ModesChart, HasWhatTheReportOfTheRunSays) {
  const FigureTable table = table_of("modes", paced().input());
  const FigureRow& both = row_of(table, {kBoth, "dp"});
  EXPECT_NEAR(*figure(table, both, "comm"), 27.17e6, 5e3);
  EXPECT_NEAR(*figure(table, both, "exposed"), 9.52e6, 5e3);
  EXPECT_NEAR(*figure(table, both, "hidden"), (27.17 - 9.52) * 1e6, 1e4);
  const report::PurposeSummary& dp = paced().summary(kBoth).modes.at("dp");
  EXPECT_DOUBLE_EQ(*figure(table, both, "exposed_wait"), 1e6 * dp.exposed_wait_ms);
  EXPECT_DOUBLE_EQ(*figure(table, both, "exposed_transfer"), 1e6 * dp.exposed_transfer_ms);
}

TEST(ModesChart, PutsCellsBelowTheirOffCellAndLeavesOutThoseThatSendNothing) {
  std::vector<std::string> cells;
  for (const FigureRow& row : table_of("modes", paced().input()).rows) cells.push_back(row.names.front());
  EXPECT_THAT(cells, ElementsAre(kOff, "grads grad_reduce_in_fp32=true", "params grad_reduce_in_fp32=true", kBoth,
                                 "off grad_reduce_in_fp32=false", "grads grad_reduce_in_fp32=false",
                                 "params grad_reduce_in_fp32=false", "both grad_reduce_in_fp32=false"));
}

TEST(ModesChart, OfATraceHasTheFiguresOfItsAnalysis) {
  const FigureTable table = table_of("modes", trace_both().input());
  const FigureTable expected = analysis::breakdown(trace_both().trace, trace_both().summary, analysis::Breakdown::mode);
  ASSERT_EQ(table.rows.size(), 1u);
  const FigureRow& dp = row_of(expected, {"dp"});
  for (const char* key : {"comm", "exposed", "exposed_wait", "exposed_transfer"})
    EXPECT_EQ(figure(table, table.rows.front(), key), figure(expected, dp, key)) << key;
}

TEST(ModesChart, ClaimsNoWaitWhereNoneIsKnown) {
  const OneCell cell("tp", {.comm_ms = 5, .exposed_ms = 2, .exposed_unsplit_ms = 2});
  const FigureTable table = table_of("modes", cell.input());
  EXPECT_EQ(figure(table, table.rows.at(0), "exposed_wait"), std::nullopt);
  EXPECT_EQ(figure(table, table.rows.at(0), "exposed_unsplit"), 2e6);
  EXPECT_EQ(figure(table, table.rows.at(0), "hidden"), 3e6);
}

TEST(StepsChart, HasEveryMeasuredStepBesideItsMedianAndInterval) {
  const FigureTable table = table_of("steps", paced().input());
  std::size_t samples = 0;
  for (const report::CellResult& cell : paced().results.cells) samples += cell.samples.size();
  EXPECT_EQ(table.rows.size(), samples);
  const report::Estimate& step = *paced().summary(kBoth).step_ms;
  const FigureRow& first = row_of(table, {kBoth, "0", "3"});
  EXPECT_EQ(figure(table, first, "length"), static_cast<double>(paced().results.cells[6].samples.front().step_ns));
  EXPECT_DOUBLE_EQ(*figure(table, first, "median"), 1e6 * step.value);
  EXPECT_DOUBLE_EQ(*figure(table, first, "median_low"), 1e6 * step.interval->low);
  EXPECT_DOUBLE_EQ(*figure(table, first, "median_high"), 1e6 * step.interval->high);
}

TEST(StepsChart, OfATraceHasEachRanksWindows) {
  const FigureTable table = table_of("steps", trace_both().input());
  EXPECT_EQ(table.rows.size(), 80u);  // 2 ranks, 5 blocks of 8 steps
  EXPECT_EQ(figure(table, row_of(table, {"rank 1"}), "length"),
            static_cast<double>(trace_both().summary.ranks[1].splits[0].window_ns));
}

void expect_sums_to_step(const FigureTable& table) {
  double sum = 0;
  for (const FigureRow& row : table.rows)
    if (row.names[1] != "step") sum += *figure(table, row, "change");
  const FigureRow& step = table.rows.back();
  EXPECT_EQ(step.names[1], "step");
  EXPECT_NEAR(sum, *figure(table, step, "change"), 2);
  EXPECT_NEAR(*figure(table, step, "candidate") - *figure(table, step, "baseline"), sum, 2);
}

TEST(ChangeChart, PartsSumToWhatTheStepChangedToTheNanosecond) {
  for (const RecordedRun* run : {&paced(), &modes(), &modelled()}) {
    for (const report::CellSummary& summary : run->summaries) {
      if (!summary.step_ratio_to_off) continue;
      ChartInput input = run->input();
      input.cell = summary.name;
      SCOPED_TRACE(run->name + ": " + summary.name);
      expect_sums_to_step(table_of("change", input));
    }
  }
}

// A cell of one rank, eight steps of 10 ms in either of two blocks, `exposed_ms` of each exposed; with one that stood
// still, and a block that the other cell may lack.
report::CellResult made_up_cell(const std::string& overlap, std::int64_t exposed_ms, int blocks, bool stands) {
  report::CellResult cell;
  cell.name = overlap;
  cell.values = {{"overlap", overlap}};
  for (std::int32_t block = 0; block < blocks; ++block)
    for (std::int32_t step = 0; step < 8; ++step) {
      const std::int64_t more_ms = stands && block == 0 && step == 3 ? 500 : block;
      analysis::Split split;
      split.compute_only_ns = (10 - exposed_ms) * 1'000'000;
      split.exposed_ns_by_modes["dp"] = (exposed_ms + more_ms) * 1'000'000;
      split.window_ns = (10 + more_ms) * 1'000'000;
      report::StepSample& sample = cell.samples.emplace_back();
      sample.block = block;
      sample.step = 8 * block + step;
      sample.step_ns = split.window_ns;
      sample.ranks = {split};
    }
  return cell;
}

TEST(ChangeChart, LeavesOutStepsThatStoodStillAndBlocksThatOneCellLacks) {
  report::RunResults run;
  run.cells = {made_up_cell("off", 4, 2, true), made_up_cell("both", 1, 1, false)};
  const std::vector<report::CellSummary> summaries = report::summarize(run);
  const FigureTable table = table_of("change", {.run = &run, .summaries = &summaries});
  expect_sums_to_step(table);
  const FigureRow& dp = row_of(table, {"exposed dp"});
  EXPECT_EQ(figure(table, dp, "baseline"), 4e6);
  EXPECT_EQ(figure(table, dp, "candidate"), 1e6);
}

TEST(ChangeChart, OfAComparisonIsItsMeanWindow) {
  const ChartInput input{.name = "off to both", .comparison = &off_to_both()};
  const FigureTable table = table_of("change", input);
  expect_sums_to_step(table);
  EXPECT_NEAR(*figure(table, table.rows.back(), "baseline"), off_to_both().from_step_ns, 1e-3);
  EXPECT_NEAR(*figure(table, table.rows.back(), "candidate"), off_to_both().to_step_ns, 1e-3);
  const compare::TraceChange& change = *off_to_both().change;
  EXPECT_NEAR(*figure(table, row_of(table, {"compute: contention"}), "change"),
              static_cast<double>(change.compute.contention_ns()) / static_cast<double>(change.windows), 1e-3);
}

TEST(ChangeChart, TakesTheCellThatChangedMostUnlessOneIsNamed) {
  EXPECT_THAT(make_chart("change", paced().input()).figures.note, HasSubstr(std::string("Candidate: ") + kBoth));
  ChartInput input = paced().input();
  input.cell = "grads grad_reduce_in_fp32=false";
  EXPECT_THAT(make_chart("change", input).figures.note, HasSubstr("Baseline: off grad_reduce_in_fp32=false"));
  input.cell = "both";
  EXPECT_THAT(refusal("change", input), HasSubstr("no cell \"both\"; available: off grad_reduce_in_fp32=true, "));
  input.cell = kOff;
  EXPECT_THAT(refusal("change", input), HasSubstr("has no cell without overlap"));
}

TEST(ChangeChart, RefusesAComparisonOfStepsAlone) {
  const compare::Comparison steps{.name = "both", .from_step_ns = 2e6, .to_step_ns = 1e6};
  EXPECT_THAT(refusal("change", {.name = "a b", .comparison = &steps}),
              AllOf(HasSubstr("needs traces on both sides"), HasSubstr("a b has only step times")));
}

TEST(MatrixChart, HasRatioExposureAndEfficiencyOfEachCellAndItsPlace) {
  const FigureTable table = table_of("matrix", paced().input());
  ASSERT_EQ(table.rows.size(), 10u);
  const FigureRow& both = row_of(table, {kBoth});
  EXPECT_THAT(both.names, ElementsAre(kBoth, "both", "true"));
  EXPECT_NEAR(*figure(table, both, "step_ratio_to_off"), 0.797, 5e-4);  // results/quick/paced/report.md
  EXPECT_NEAR(*figure(table, both, "exposed"), 9.52e6, 5e3);
  EXPECT_NEAR(*figure(table, both, "efficiency"), 0.44, 5e-3);
  EXPECT_EQ(figure(table, row_of(table, {kOff}), "step_ratio_to_off"), std::nullopt);
}

TEST(BandwidthChart, HasTheRatesOfTheTrace) {
  const FigureTable table = table_of("bandwidth", trace_both().input());
  const analysis::BandwidthReport report = analysis::find_bandwidths(trace_both().trace);
  ASSERT_EQ(table.rows.size(), report.rows.size());
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    EXPECT_EQ(figure(table, table.rows[i], "median"), report.rows[i].median_bytes);
    EXPECT_EQ(figure(table, table.rows[i], "busbw_gb_per_s"), report.rows[i].whole.busbw_gb_per_s);
    EXPECT_EQ(figure(table, table.rows[i], "transfer_busbw_gb_per_s"), report.rows[i].transfer->busbw_gb_per_s);
  }
}

TEST(GateChart, HasEveryRowWithItsLimitsInPercent) {
  const gate::GateReport report = made_up_gate();
  const FigureTable table = table_of("gate", {.gate = &report});
  ASSERT_EQ(table.rows.size(), report.rows.size());
  EXPECT_THAT(table.rows[0].names, ElementsAre("both", "step", "regression", "+8.5 % [+7.0, +10.0]"));
  EXPECT_DOUBLE_EQ(*figure(table, table.rows[0], "change"), 8.5);
  EXPECT_DOUBLE_EQ(*figure(table, table.rows[0], "upper"), 10);
  EXPECT_DOUBLE_EQ(*figure(table, table.rows[0], "tolerance"), 5);
  EXPECT_EQ(figure(table, row_of(table, {"off", "numerics"}), "change"), std::nullopt);
}

// "measured" before a modelled time would be a lie, wherever it stands.
TEST(Charts, SayWhetherTimesAreModelledOrWhatTheyWereMeasuredOn) {
  for (const char* name : {"modes", "steps", "change", "matrix"}) {
    const ChartFigures of_modelled = make_chart(name, modelled().input()).figures;
    EXPECT_THAT(of_modelled.title, HasSubstr("(simulated)")) << name;
    EXPECT_THAT(of_modelled.subtitle, StartsWith("simulated: h100-sxm; no time was measured")) << name;
    const ChartFigures of_measured = make_chart(name, paced().input()).figures;
    EXPECT_THAT(of_measured.title, Not(HasSubstr("simulated"))) << name;
    EXPECT_THAT(of_measured.subtitle, StartsWith("measured: host, link paced to 1 Gbit/s")) << name;
  }
  EXPECT_THAT(make_chart("bandwidth", trace_both().input()).figures.subtitle, StartsWith("measured: host, link paced"));
}

TEST(Charts, SayOfAComparisonOnlyWhatIsKnown) {
  ChartInput input{.name = "a to b", .comparison = &off_to_both()};
  EXPECT_EQ(make_chart("change", input).figures.subtitle, "a to b");
  input.how_made = "simulated: h100-sxm; no time was measured";
  EXPECT_THAT(make_chart("change", input).figures.title, HasSubstr("(simulated)"));
  gate::GateReport exact = made_up_gate();
  exact.is_exact = true;
  exact.forced = "another model";
  EXPECT_THAT(make_chart("gate", {.gate = &exact}).figures.title, HasSubstr("(simulated)"));
  EXPECT_THAT(make_chart("gate", {.gate = &exact}).figures.note, StartsWith("Not comparable, forced: another model."));
}

TEST(Charts, OfATraceMadeElsewhereNameItsFormat) {
  Trace trace;
  trace.metadata = {{"format", "kineto"}, {"device_name", "H100"}};
  EXPECT_EQ(how_made(trace), "measured elsewhere: a trace of kineto, H100");
  trace.metadata = {{"backend", "sim"}, {"link", "modelled: h100-sxm"}};
  EXPECT_EQ(how_made(trace), "simulated: h100-sxm; no time was measured");
  EXPECT_EQ(how_made(compare::facts_of(trace, "a")), how_made(trace));
  EXPECT_EQ(how_made(compare::facts_of(trace_both().trace, "b")), how_made(trace_both().trace));
}

TEST(Charts, RefuseWhatLacksTheirInputAndSayWhatToGive) {
  EXPECT_EQ(refusal("bandwidth", paced().input()),
            "chart bandwidth needs a trace; quick/paced is a run; give one of its traces, such as "
            "quick/paced/traces/00-off_grad_reduce_in_fp32=true.pftrace");
  EXPECT_EQ(refusal("matrix", trace_both().input()),
            "chart matrix needs a run; both.pftrace.zst is a trace; give a run folder, which contains results.json");
  EXPECT_EQ(refusal("change", trace_both().input()),
            "chart change needs a comparison or a run; both.pftrace.zst is a trace; give two traces, or two runs and a "
            "cell of both");
  EXPECT_EQ(refusal("gate", {}),
            "chart gate needs a gate; the input is none of these; give two runs: --chart gate BASELINE CANDIDATE");
  EXPECT_EQ(refusal("pie", {}), "no chart \"pie\"; available: modes, steps, change, matrix, bandwidth, gate, scaling");
}

TEST(Charts, AreAsManyAsTheirFilesAndEachHasAName) {
  std::set<std::string> files, names;
  for (const auto& entry : std::filesystem::directory_iterator(UNDERLAP_CHARTS_FOLDER))
    if (const std::string name = entry.path().stem().string();
        name.ends_with("_chart") && entry.path().extension() == ".cpp")
      files.insert(name.substr(0, name.find("_chart")));
  files.erase("write");
  for (const ChartKind& kind : chart_kinds()) names.emplace(kind.name);
  EXPECT_EQ(names, files);
  EXPECT_EQ(names.size(), chart_kinds().size());
}

TEST(ScalingChart, HasARowForTheStepAndForEachModeOfEverySize) {
  const FigureTable table = table_of("scaling", {.scaling = &made_up_scaling()});
  const FigureRow& step = row_of(table, {"off", "measured", "step", "out/8"});
  EXPECT_EQ(figure(table, step, "ranks"), 8);
  EXPECT_DOUBLE_EQ(*figure(table, step, "length"), 108e6);
  EXPECT_DOUBLE_EQ(*figure(table, step, "high"), 1.1 * 108e6);
  EXPECT_DOUBLE_EQ(*figure(table, step, "ideal"), 102e6);  // of 2 ranks: as many sequences a rank at each size
  EXPECT_DOUBLE_EQ(*figure(table, row_of(table, {"on", "modelled", "exposed dp", "out/64"}), "length"), 0.75 * 37e6);
  EXPECT_EQ(table.rows.size(), (4u + 3u) * 2 * 3);
}

TEST(ScalingChart, SaysWhatWasMeasuredAndWhatModelled) {
  const ChartFigures both = make_chart("scaling", {.scaling = &made_up_scaling()}).figures;
  EXPECT_EQ(both.subtitle, "measured: host, link real; simulated: h100-sxm; no time was measured; 4 runs");
  EXPECT_THAT(both.note, HasSubstr("Ideal: "));
  report::ScalingReport modelled = made_up_scaling();
  for (report::ScaledCell& cell : modelled.cells) {
    std::erase_if(cell.points, [](const report::ScaledPoint& scaled) { return !scaled.point.is_modelled; });
    for (report::ScaledPoint& scaled : cell.points) scaled.efficiency.reset(), scaled.point.sequences.reset();
  }
  modelled.forced = "the seed differs";
  const ChartFigures alone = make_chart("scaling", {.scaling = &modelled}).figures;
  EXPECT_THAT(alone.title, HasSubstr("(simulated)"));
  EXPECT_EQ(alone.note, "Not comparable, forced: the seed differs.");
}

}  // namespace
}  // namespace underlap::viewer
