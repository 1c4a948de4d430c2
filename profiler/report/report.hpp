// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "platform/table.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// Reasons not to take a run's figures at face value: ranks that represent others, cells that fit no GPU, times and
/// losses that are not valid. One line each; often empty.
std::string report_warnings(const RunResults& results);

/// The first lines of run_text(): backend and link, who started the ranks, finished blocks.
std::string run_heading(const RunResults& results);

/// A note on the intervals of a measured run with few blocks: that there are none, or what they assume. Empty without a
/// note.
std::string interval_note(const RunResults& results);

/// One table of a run, and how to read it.
struct ReportSection {
  std::string title;
  std::string about;
  Table table;
};

/// All tables of a run that have rows, every column.
std::vector<ReportSection> report_sections(const RunResults& results, const std::vector<CellSummary>& summaries);

/// How detailed run_text() is.
enum class Details : std::uint8_t { left_out, included };

/// The text of a finished run, for `underlap run` and for printing that run again. It has the run and its link, reasons
/// to doubt its figures, an answer for each pair of cells with overlap off and on, and one row per cell. With details
/// also every answer, every column, and the tables of report_markdown().
std::string run_text(const RunResults& results, const TableFormat& format, Details details);

/// A run's table alone, with every column: what was run over which link, one row a cell, ratios along axes, and the
/// answers in one line.
std::string report_table(const RunResults& results, const TableFormat& format);

/// The whole report: what was run and where, the answers, the table, communication by mode and by purpose, where the
/// time went, what steps take beyond their bounds, how to read it.
std::string report_markdown(const RunResults& results);

/// Writes report_markdown to `folder`/report.md, whole or not at all. Throws MachineError as write_results does.
void write_report(const std::filesystem::path& folder, const RunResults& results);

}  // namespace underlap::report
