// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/matrix_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platform/problems.hpp"
#include "profiler/compare/compare_report.hpp"

namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;

std::optional<double> value_of(const std::optional<report::Estimate>& estimate, double unit = 1) {
  return estimate ? std::optional(unit * estimate->value) : std::nullopt;
}

// The settings, "knob=value", that every name has; of one name none.
std::set<std::string_view> shared_by_all(const std::vector<report::CellSummary>& summaries) {
  std::map<std::string_view, std::size_t> counts;
  for (const report::CellSummary& cell : summaries)
    for (const std::string_view word : yaml::split_words(cell.name)) counts[word] += word.find('=') != word.npos;
  std::set<std::string_view> shared;
  for (const auto& [word, count] : counts)
    if (summaries.size() > 1 && count == summaries.size()) shared.insert(word);
  return shared;
}

std::string without(const std::string& name, const std::set<std::string_view>& shared) {
  std::vector<std::string_view> words = yaml::split_words(name);
  std::erase_if(words, [&](std::string_view word) { return shared.contains(word); });
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

FigureTable matrix_table(const std::vector<report::CellSummary>& summaries) {
  const std::set<std::string_view> shared = shared_by_all(summaries);
  FigureTable table{{{shared.empty() ? "cell" : fmt::format("cell, with {}", fmt::join(shared, " ")), "cell"}},
                    {{"step ms", "step"},
                     {"step/off", "step_ratio_to_off", FigureUnit::number},
                     {"exposed ms", "exposed"},
                     {"overlap %", "overlap_pct", FigureUnit::percent},
                     {"E", "efficiency", FigureUnit::number}},
                    {}};
  for (const report::CellSummary& cell : summaries)
    table.rows.push_back({{without(cell.name, shared)},
                          {value_of(cell.step_ms, 1e6), value_of(cell.step_ratio_to_off),
                           value_of(cell.exposed_ms, 1e6), cell.overlap_pct, value_of(cell.efficiency)}});
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
