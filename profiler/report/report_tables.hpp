// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// One row a cell: step, exposure, efficiency, bound, numerics; the columns in the order in which they matter.
Table cell_table(const RunResults& results, const std::vector<CellSummary>& summaries);

/// One row a cell, of what a terminal of 80 columns holds.
Table brief_table(const RunResults& results, const std::vector<CellSummary>& summaries);

/// One row a cell: tokens and TFLOP a second, MFU, predicted memory. Without rows in results of before they were kept.
Table rate_table(const RunResults& results, const std::vector<CellSummary>& summaries);

/// What the figures of rate_table() are of: what is counted, and whose peak.
std::string rates_about(const RunResults& results);

/// Ratios of steps along one axis of two values: a row for each pair of cells that differ in it alone. It shows whether
/// the blocks resolve 1 % of a step, and how many blocks that takes.
struct AxisTable {
  std::string axis;
  std::string title;  ///< with the two values, in the order of the ratio
  Table table;
};
std::vector<AxisTable> axis_tables(const RunResults& results, const std::vector<CellSummary>& summaries);

/// One row a cell and mode of parallelism that communicates.
Table mode_table(const std::vector<CellSummary>& summaries);

/// One row a cell and purpose of communication.
Table purpose_table(const std::vector<CellSummary>& summaries);

/// One row a cell that has an off cell: how the parts of the window changed from off to it, and what made compute
/// change, in milliseconds with all their digits, so that each row adds up.
Table time_change_table(const RunResults& results);

/// One row a cell that has a bound: what its window takes beyond it, in milliseconds that add up, and the largest
/// names.
Table excess_table(const RunResults& results);

/// "12.34 [12.10, 12.61]"; "12.34" without interval; "-" where there is no estimate.
std::string estimate_text(const std::optional<Estimate>& estimate, int digits);

/// Notes that are printed once above the tables, and referenced by number in rows: requests that are not in effect, and
/// why cells were not run.
struct CellNotes {
  std::vector<std::string> lines;               ///< "NOT AS REQUESTED [1]: on and 2 more: ..."
  std::map<std::string, std::string> of_cells;  ///< name -> "[1] [3]"

  /// The text of a cell's row; "-" for a cell without notes.
  std::string of(std::string_view cell) const;
};
CellNotes notes_of(const RunResults& results);

}  // namespace underlap::report
