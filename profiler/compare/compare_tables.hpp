// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/table.hpp"
#include "profiler/compare/compare_report.hpp"

namespace underlap::compare {

/// Milliseconds without their unit; "-" if unknown. With a sign for changes, unless all digits are 0.
std::string ms(std::optional<double> ns);
std::string signed_ms(std::optional<double> ns);

/// Whether all digits of ms() are 0.
bool is_shown_as_zero(double ns);

/// The mean of a sum over the windows of one side.
double per_window(const TraceChange&, std::int64_t ns);

/// The operation that changed the step most, with `how` after its name; empty without such an operation.
std::string largest_change(const Comparison&, const std::string& how = "");

/// A row for each cell: its steps, their change, and the largest contribution.
Table cells_table(const CompareReport&);

/// The parts of the mean step of a comparison with traces, and the typical step.
Table parts_table(const Comparison&);

/// How long the names of a table are.
enum class Names : std::uint8_t { whole, shortened };

/// The operations that changed the step most.
Table operations_table(const TraceChange&, std::size_t most, Names);

/// The change by `what`, a member of the operations: "by stream". Without rows if nothing changed.
Table sums_table(const TraceChange&, const std::string& what, std::string OperationChange::*member);

/// How the operations of both sides were matched, and over how many windows.
std::string windows_text(const TraceChange&);

}  // namespace underlap::compare
