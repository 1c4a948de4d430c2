// SPDX-License-Identifier: Apache-2.0
#include "tests/viewer/charts/chart_inputs.hpp"

#include "profiler/formats/format.hpp"

namespace underlap::viewer {
namespace {

std::filesystem::path results_folder() { return UNDERLAP_RESULTS_FOLDER; }

const gate::GateReport& kept_gate() {
  static const gate::GateReport report = made_up_gate();
  return report;
}

compare::Comparison compared() {
  compare::Comparison comparison;
  comparison.change =
      compare::compare_traces({trace_off().trace, trace_off().summary}, {trace_both().trace, trace_both().summary});
  const auto windows = static_cast<double>(comparison.change->windows);
  comparison.from_step_ns = static_cast<double>(comparison.change->from.window_ns) / windows;
  comparison.to_step_ns = static_cast<double>(comparison.change->to.window_ns) / windows;
  return comparison;
}

report::ScalingPoint point_at(const char* cell, std::int32_t ranks, bool is_modelled, double step_ms) {
  report::ScalingPoint point;
  point.cell = point.name = cell;
  point.run = "out/" + std::to_string(ranks);
  point.is_modelled = is_modelled;
  point.num_ranks = point.num_ranks_played = ranks;
  point.sequences = 2.0 * ranks;
  point.backend = is_modelled ? "sim" : "host";
  point.environment["link"] = is_modelled ? "modelled: h100-sxm" : "real";
  point.summary.step_ms =
      report::Estimate{.value = step_ms, .interval = report::Interval{0.9 * step_ms, 1.1 * step_ms}, .blocks = 5};
  point.summary.exposed_ms = report::Estimate{.value = step_ms - 60, .interval = {}, .blocks = 5};
  point.summary.modes["dp"].exposed_ms = 0.75 * (step_ms - 60);
  point.summary.modes["tp"].exposed_ms = 0.25 * (step_ms - 60);
  return point;
}

// Twice as many ranks and sequences each time; a step of 60 ms would be all compute.
report::ScalingReport scaled_up() {
  std::vector<report::ScalingPoint> points;
  for (const std::int32_t ranks : {2, 4, 8, 64}) {
    points.push_back(point_at("off", ranks, true, 80 + ranks));
    points.push_back(point_at("on", ranks, true, 65 + 0.5 * ranks));
    if (ranks > 8) continue;
    points.push_back(point_at("off", ranks, false, 100 + ranks));
    points.push_back(point_at("on", ranks, false, 70 + ranks));
  }
  return report::scaling_of(std::move(points), {}, false);
}

}  // namespace

RecordedRun::RecordedRun(const std::string& of)
    : name(of), results(report::read_results(results_folder() / of)), summaries(report::summarize(results)) {}

const report::CellSummary& RecordedRun::summary(const std::string& cell) const {
  for (const report::CellSummary& one : summaries)
    if (one.name == cell) return one;
  throw std::out_of_range(cell);
}

RecordedTrace::RecordedTrace(const std::string& file)
    : name(file),
      trace(formats::read_trace(results_folder() / "quick/paced/traces" / file)),
      summary(analysis::summarize(trace)) {}

const RecordedRun& paced() {
  static const RecordedRun run("quick/paced");
  return run;
}

const RecordedRun& modes() {
  static const RecordedRun run("modes");
  return run;
}

const RecordedRun& modelled() {
  static const RecordedRun run("modes_modelled");
  return run;
}

const RecordedTrace& trace_off() {
  static const RecordedTrace trace("off.pftrace.zst");
  return trace;
}

const RecordedTrace& trace_both() {
  static const RecordedTrace trace("both.pftrace.zst");
  return trace;
}

const compare::Comparison& off_to_both() {
  static const compare::Comparison comparison = compared();
  return comparison;
}

gate::GateReport made_up_gate() {
  using gate::Verdict;
  gate::GateReport report;
  report.verdict = Verdict::regression;
  const auto row = [&](const char* cell, const char* metric, Verdict verdict, double change, double half_width) {
    report.rows.push_back({.cell = cell,
                           .metric = metric,
                           .verdict = verdict,
                           .baseline = 100e6,
                           .candidate = 100e6 * (1 + change),
                           .change = change,
                           .lower = change - half_width,
                           .upper = change + half_width,
                           .tolerance = 0.05});
  };
  row("both", "step", Verdict::regression, 0.085, 0.015);
  row("both", "exposed.dp", Verdict::regression, 0.08, 0.02);
  row("grads", "step", Verdict::inconclusive, 0.03, 0.04);
  row("off", "step", Verdict::pass, -0.01, 0.02);
  row("a cell whose name is longer than any chart has room for, with all its axes in it", "step", Verdict::pass, 0,
      0.01);
  report.rows.push_back(
      {.cell = "off", .metric = "numerics", .verdict = Verdict::pass, .words = "bit_identical -> bit_identical"});
  for (const char* cell : {"both", "grads", "off"}) report.cells.push_back({.name = cell});
  return report;
}

const report::ScalingReport& made_up_scaling() {
  static const report::ScalingReport report = scaled_up();
  return report;
}

ChartInput fitting_input(const ChartKind& kind) {
  switch (kind.needs.front()) {
    case ChartSource::run: return paced().input();
    case ChartSource::trace: return trace_both().input();
    case ChartSource::comparison:
      return {.name = "off to both", .how_made = how_made(trace_both().trace), .comparison = &off_to_both()};
    case ChartSource::gate: return {.name = "main", .how_made = "measured: host, link real", .gate = &kept_gate()};
    case ChartSource::scaling: return {.scaling = &made_up_scaling()};
  }
  return {};
}

}  // namespace underlap::viewer
