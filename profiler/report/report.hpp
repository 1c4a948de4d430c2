// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// The table of a run for a terminal: what was run over which link, one row a cell, and what the table leaves out.
std::string report_table(const RunResults& results, const TableFormat& format);
std::string report_table(const RunResults& results, int width, bool colour);

/// What a run adds for a terminal, below report_table(): communication by mode, where the time went, and what a step
/// takes beyond its bound.
std::string report_details(const RunResults& results, const TableFormat& format);

/// How much run_text() says.
enum class Details : std::uint8_t { left_out, included };

/// What `underlap run` prints of a run when it is over, and whoever shows that run again: report_table(), with details
/// report_details() too. Ends in a line break.
std::string run_text(const RunResults& results, const TableFormat& format, Details details);

/// The whole report: what was run and where, the table, communication by mode and by purpose, where the time went, what
/// steps take beyond their bounds, how to read it.
std::string report_markdown(const RunResults& results);

/// Writes report_markdown to `folder`/report.md, whole or not at all. Throws MachineError as write_results does.
void write_report(const std::filesystem::path& folder, const RunResults& results);

}  // namespace underlap::report
