// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "profiler/gate/gate.hpp"

namespace underlap::gate {

/// A run of one measured cell of 100 ms whose communication is exposed for 10.
inline RunFigures run_of(const std::string& source, std::vector<std::pair<std::string, double>> steps_ms) {
  RunFigures run;
  run.source = source;
  run.started_utc = "2026-01-02T03:04:05Z";
  run.command = "underlap run x.yaml -o " + source;
  run.commit = "c0ffee";
  run.kind = {{"backend", "host"}, {"link", "real"}};
  run.environment = {{"machine", "m1"}, {"version", "0.1.0"}};
  for (auto& [name, ms] : steps_ms) {
    CellFigures cell;
    cell.name = name;
    cell.work = {{"model.num_layers", "4"}, {"ranks", "2"}, {compare::kWithoutTransfers, "no"}};
    cell.knobs = {{"ddp.overlap_grad_reduce", "true"}};
    cell.metrics = {{"step", ms * 1e6}, {"exposed", 10e6}, {"exposed.dp", 10e6}, {"efficiency", 0.5}, {"bytes", 4096}};
    cell.numerics = "bit_identical";
    cell.operations = {{.name = "fc1", .busy_ns = 80e6},
                       {.name = "grad_reduce_scatter", .is_communication = true, .busy_ns = 20e6, .exposed_ns = 10e6}};
    run.cells.push_back(std::move(cell));
  }
  return run;
}

/// Runs of ten cells, c0 to c9, whose steps lie half a percent around 100 ms, each cell and run a little elsewhere.
inline std::vector<RunFigures> runs_of(const std::string& name, std::size_t count) {
  std::vector<RunFigures> runs;
  for (std::size_t run = 0; run < count; ++run) {
    std::vector<std::pair<std::string, double>> cells;
    for (std::size_t cell = 0; cell < 10; ++cell)
      cells.emplace_back(fmt::format("c{}", cell),
                         100 + 0.1 * static_cast<double>((7 * cell + 3 * run + name.size() * 5) % 11) - 0.5);
    runs.push_back(run_of(fmt::format("{}/run-{:02}", name, run), std::move(cells)));
  }
  return runs;
}

/// The cell of that name in all `runs` becomes `share` slower, by what is exposed.
inline void slow_down(std::vector<RunFigures>& runs, const std::string& name, double share) {
  for (RunFigures& run : runs)
    for (CellFigures& cell : run.cells) {
      if (cell.name != name) continue;
      const double more = cell.metrics["step"] * share;
      for (const char* metric : {"step", "exposed", "exposed.dp"}) cell.metrics[metric] += more;
      cell.operations[1].busy_ns += more;
      cell.operations[1].exposed_ns += more;
    }
}

inline std::vector<RunFigures> slower_runs(const std::string& name, double share, std::size_t count = 3) {
  std::vector<RunFigures> runs = runs_of("new", count);
  slow_down(runs, name, share);
  return runs;
}

struct Sides {
  std::vector<RunFigures> baseline, candidate;
};

/// A run a side of virtual time, which differ in their source and start alone.
inline Sides exact_sides() {
  Sides sides{runs_of("base", 1), runs_of("base", 1)};
  sides.candidate[0].source = "new";
  sides.candidate[0].started_utc = "later";
  for (auto* side : {&sides.baseline, &sides.candidate}) side->front().is_exact = true;
  return sides;
}

/// Against as many runs, base/run-00 and on, as are given.
inline GateReport against_base(const std::vector<RunFigures>& candidate, const GateOptions& options = {}) {
  return run_gate(runs_of("base", candidate.size()), candidate, options);
}

/// The row of that cell and metric.
inline const GateRow& row_of(const GateReport& report, const std::string& cell, const std::string& metric) {
  for (const GateRow& row : report.rows)
    if (row.cell == cell && row.metric == metric) return row;
  throw std::out_of_range(cell + " has no " + metric);
}

}  // namespace underlap::gate
