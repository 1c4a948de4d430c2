// SPDX-License-Identifier: Apache-2.0
#include "tests/viewer/charts/chart_inputs.hpp"

#include <filesystem>
#include <stdexcept>

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

}  // namespace

RecordedRun::RecordedRun(const std::string& of)
    : name(of), results(report::read_results(results_folder() / of)), summaries(report::summarise(results)) {}

const report::CellSummary& RecordedRun::summary(const std::string& cell) const {
  for (const report::CellSummary& one : summaries)
    if (one.name == cell) return one;
  throw std::out_of_range(cell);
}

RecordedTrace::RecordedTrace(const std::string& file)
    : name(file),
      trace(formats::read_trace(results_folder() / "quick/paced/traces" / file)),
      summary(analysis::summarise(trace)) {}

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

ChartInput fitting_input(const ChartKind& kind) {
  switch (kind.needs.front()) {
    case ChartSource::run: return paced().input();
    case ChartSource::trace: return trace_both().input();
    case ChartSource::comparison:
      return {.name = "off to both", .how_made = how_made(trace_both().trace), .comparison = &off_to_both()};
    case ChartSource::gate: return {.name = "main", .how_made = "measured: host, link real", .gate = &kept_gate()};
  }
  return {};
}

}  // namespace underlap::viewer
