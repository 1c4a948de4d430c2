// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/matrix_table.hpp"

#include <optional>
#include <string>

#include "profiler/compare/compare_report.hpp"

namespace underlap::viewer {
namespace {

using analysis::FigureTable;
using analysis::FigureUnit;

std::optional<double> ns_of(const std::optional<report::Estimate>& milliseconds) {
  return milliseconds ? std::optional(milliseconds->value * 1e6) : std::nullopt;
}

std::optional<double> value_of(const std::optional<report::Estimate>& estimate) {
  return estimate ? std::optional(estimate->value) : std::nullopt;
}

}  // namespace

FigureTable matrix_table(const std::vector<report::CellSummary>& summaries) {
  FigureTable table{{{"cell", "cell"}},
                    {{"step ms", "step"},
                     {"step/off", "step_ratio_to_off", FigureUnit::number},
                     {"exposed ms", "exposed"},
                     {"overlap %", "overlap_pct", FigureUnit::percent},
                     {"E", "efficiency", FigureUnit::number}},
                    {}};
  for (const report::CellSummary& cell : summaries)
    table.rows.push_back({{cell.name},
                          {ns_of(cell.step_ms), value_of(cell.step_ratio_to_off), ns_of(cell.exposed_ms),
                           cell.overlap_pct, value_of(cell.efficiency)}});
  return table;
}

FigureTable operations_table(const compare::TraceChange& change) {
  FigureTable table{{{"operation", "operation"}, {"kind", "kind"}, {"stream", "stream"}, {"match", "match"}},
                    {{"baseline ms", "baseline"},
                     {"candidate ms", "candidate"},
                     {"change ms", "change"},
                     {"count before", "count_before", FigureUnit::number},
                     {"count after", "count_after", FigureUnit::number}},
                    {}};
  const auto windows = static_cast<double>(change.windows);
  for (const compare::NetOperation& operation : change.net)
    table.rows.push_back(
        {{operation.name, operation.mode.empty() ? operation.kind : operation.mode + " comm", operation.stream,
          std::string(to_string(operation.match))},
         {static_cast<double>(operation.from_step_ns) / windows, static_cast<double>(operation.to_step_ns) / windows,
          static_cast<double>(operation.step_delta_ns()) / windows, static_cast<double>(operation.from_count) / windows,
          static_cast<double>(operation.to_count) / windows}});
  return table;
}

FigureTable parts_table(const compare::TraceChange& change) {
  FigureTable table{{{"part of the step", "part"}},
                    {{"baseline ms", "baseline"}, {"candidate ms", "candidate"}, {"change ms", "change"}},
                    {}};
  for (const compare::StepPart& part : compare::parts_of(change))
    table.rows.push_back({{(part.is_within ? "  " : "") + part.name}, {part.from_ns, part.to_ns, part.delta_ns()}});
  return table;
}

}  // namespace underlap::viewer
