// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// How much run_text() says.
enum class Details : std::uint8_t { left_out, included };

/// What `underlap run` prints of a run when it is over, and whoever shows that run again: what was run over which link,
/// what speaks against its figures, an answer for each pair of cells with overlap off and on, and one row a cell. With
/// details every answer, every column, and the tables of report_markdown().
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
