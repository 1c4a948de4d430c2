// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/not_comparable.hpp"
#include "profiler/compare/compare_report.hpp"
#include "profiler/compare/run_figures.hpp"
#include "profiler/compare/trace_change.hpp"
#include "profiler/report/results.hpp"

namespace underlap::compare {

/// A trace to compare.
struct NamedTrace {
  std::string name;  ///< what was named: a file, a folder or a pattern
  Side side;
};

/// Compares two traces by their steps, or, if neither shows any, as one step each.
///
/// Throws NotComparable, unless `is_forced`; std::invalid_argument where the steps of one side alone are known; and as
/// compare_traces().
CompareReport report_of_traces(const NamedTrace& from, const NamedTrace& to, bool is_forced);

/// A finished run to compare. The source of its figures is the path that the user named.
struct ComparedRun {
  report::RunResults results = {};
  RunFigures figures = {};
};

/// Where the difference of two cells went, by their traces (compare_traces()); nullopt where a side has none.
using ChangeOfCells =
    std::function<std::optional<TraceChange>(const report::CellResult& from, const report::CellResult& to)>;

/// Compares two runs cell by cell, in the order of the first: by the traces that `change_of` reads, else by the steps
/// alone. A cell that one run lacks becomes a note.
///
/// Throws std::invalid_argument as check_sides(), where no cell is in both, and where they did not do the same, unless
/// `is_forced`.
CompareReport report_of_runs(const ComparedRun& from, const ComparedRun& to, bool is_forced,
                             const ChangeOfCells& change_of);

/// The same of two cells of one run. Throws std::invalid_argument where the run lacks one or both are the same, and
/// where they did not do the same, unless `is_forced`.
CompareReport report_of_cells(const ComparedRun& run, const std::string& from, const std::string& to, bool is_forced,
                              const ChangeOfCells& change_of);

}  // namespace underlap::compare
