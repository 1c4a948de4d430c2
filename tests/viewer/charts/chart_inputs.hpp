// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/charts/chart.hpp"

namespace underlap::viewer {

/// A recorded run of results/, with its summaries.
struct RecordedRun {
  explicit RecordedRun(const std::string& name);

  std::string name;
  report::RunResults results;
  std::vector<report::CellSummary> summaries;

  ChartInput input() const { return {.name = name, .run = &results, .summaries = &summaries}; }
  const report::CellSummary& summary(const std::string& cell) const;
};

/// A recorded trace of results/quick/paced.
struct RecordedTrace {
  explicit RecordedTrace(const std::string& file);

  std::string name;
  Trace trace;
  analysis::Summary summary;

  ChartInput input() const { return {.name = name, .trace = &trace, .summary = &summary}; }
};

/// Each is read once.
const RecordedRun& paced();
const RecordedRun& modes();
const RecordedRun& modelled();  ///< results/modes_modelled
const RecordedTrace& trace_off();
const RecordedTrace& trace_both();

/// The input of a run with one cell, "cell", that communicates in one mode; without a mode in none.
struct OneCell {
  explicit OneCell(const std::string& mode = "", const report::PurposeSummary& communication = {}) : summaries(1) {
    summaries[0].name = "cell";
    if (!mode.empty()) summaries[0].modes[mode] = communication;
  }

  std::vector<report::CellSummary> summaries;

  ChartInput input() const { return {.name = paced().name, .run = &paced().results, .summaries = &summaries}; }
};

/// off against both, by their traces.
const compare::Comparison& off_to_both();

/// A regression, an inconclusive metric and some that pass; limits known.
gate::GateReport made_up_gate();

/// off and on at 2 to 64 ranks, modelled, and measured at 2 to 8.
const report::ScalingReport& made_up_scaling();

/// An input that the chart can be made from.
ChartInput fitting_input(const ChartKind&);

}  // namespace underlap::viewer
