// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/page_tables.hpp"

#include <fmt/format.h>

#include "profiler/compare/compare_report.hpp"

namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;

}  // namespace

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

FigureTable facts_table(const std::vector<FactsOfSide>& sides) {
  FigureTable table{{{"", "fact"}}, {}, {}};
  for (std::size_t side = 1; side <= sides.size(); ++side) {
    const auto& [title, facts] = sides[side - 1];
    table.names.push_back({title, title});
    std::map<std::string, std::size_t> seen;  // how often, by label
    std::size_t next = 0;                     // where a row that no side before had is put in
    for (const Fact& fact : facts) {
      std::size_t nth = seen[fact.label]++;
      auto row = std::ranges::find_if(
          table.rows, [&](const FigureRow& one) { return one.names.front() == fact.label && nth-- == 0; });
      if (row == table.rows.end()) {
        row = table.rows.insert(table.rows.begin() + static_cast<std::ptrdiff_t>(next),
                                FigureRow{std::vector<std::string>(1 + sides.size()), {}});
        row->names.front() = fact.label;
      }
      row->names[side] = fact.value;
      next = static_cast<std::size_t>(row - table.rows.begin()) + 1;
    }
  }
  return table;
}

}  // namespace underlap::viewer
