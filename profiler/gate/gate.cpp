// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "profiler/gate/judged_rows.hpp"
#include "profiler/gate/paired_cells.hpp"
#include "profiler/gate/sides.hpp"

namespace underlap::gate {
namespace {

int urgency(Verdict verdict) {
  if (verdict == Verdict::regression) return 0;
  return verdict == Verdict::inconclusive ? 1 : 2;
}

void sort_rows(std::vector<GateRow>& rows) {
  std::ranges::stable_sort(rows, [](const GateRow& a, const GateRow& b) {
    if (a.verdict != b.verdict) return urgency(a.verdict) < urgency(b.verdict);
    if ((a.metric == "step") != (b.metric == "step")) return a.metric == "step";
    return a.change > b.change;
  });
}

Verdict verdict_of(const std::vector<GateRow>& rows) {
  Verdict verdict = Verdict::pass;
  for (const GateRow& row : rows) {
    if (row.verdict == Verdict::regression) return Verdict::regression;
    if (row.verdict == Verdict::inconclusive && row.decides) verdict = Verdict::inconclusive;
  }
  return verdict;
}

// A person's rules that match nothing.
std::vector<std::string> warnings_of_unused(const Rules& rules, const std::vector<PairedCell>& cells) {
  std::vector<std::string> names;
  std::set<std::string> metrics;
  for (const PairedCell& cell : cells) {
    if (!cell.baseline.empty()) names.push_back(cell.name);
    for (const auto* side : {&cell.baseline, &cell.candidate})
      for (const CellFigures* figures : *side) {
        for (const auto& [metric, value] : figures->metrics) metrics.insert(metric);
        if (!figures->numerics.empty()) metrics.insert("numerics");
      }
  }
  return rules.unused(names, {metrics.begin(), metrics.end()});
}

}  // namespace

GateReport run_gate(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  GateReport report = report_of_sides(baseline, candidate, options);
  const std::vector<PairedCell> cells = pair_cells(baseline, candidate, options.rules);
  if (!baseline.empty()) {
    std::ranges::move(warnings_of_unused(options.rules, cells), std::back_inserter(report.warnings));
    judge_by_baseline(cells, report);
  } else {
    for (const PairedCell& cell : cells) report.cells.push_back({.name = cell.name});
  }
  const auto is_exact = [](const RunFigures& run) { return run.is_exact; };
  if (report.max_exposed) judge_by_target(cells, std::ranges::all_of(candidate, is_exact), report);
  sort_rows(report.rows);
  report.verdict = verdict_of(report.rows);
  return report;
}

}  // namespace underlap::gate
