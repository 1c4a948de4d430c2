// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "profiler/analysis/figure_table.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/results.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::report {

/// The names and figures of a row of modes_figures(). Times are of a step.
struct ModesTable {
  enum Name : std::size_t { cell, mode, off_cell };
  enum Column : std::size_t { comm, hidden, exposed, wait, transfer, unsplit };
};

/// A row for each cell and mode that sends something. Cells with overlap follow their cell without.
analysis::FigureTable modes_figures(const std::vector<CellSummary>&);

/// A row for each mode, whose cell is "all ranks".
analysis::FigureTable modes_figures(const Trace&, const analysis::Summary&);

/// The bar of such a row in milliseconds from 0: where what is hidden ends, then what only waited, what transferred,
/// and what is exposed without a known last arrival.
struct ModeBar {
  double hidden = 0;
  double waited = 0;
  double transferred = 0;
  double exposed = 0;
};
ModeBar mode_bar(const analysis::FigureRow&);

/// The names and figures of a row of steps_figures(). Median and limits are those of all steps of its cell or rank.
struct StepsTable {
  enum Name : std::size_t { of, block, step };
  enum Column : std::size_t { length, median, low, high };
};

/// A row for each measured step of each cell.
analysis::FigureTable steps_figures(const RunResults&, const std::vector<CellSummary>&);

/// A row for each step of each rank, also for stalled ones.
analysis::FigureTable steps_figures(const analysis::Summary&);

}  // namespace underlap::report
