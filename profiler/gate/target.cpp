// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/target.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "profiler/gate/metrics.hpp"

namespace underlap::gate {
namespace {

// Empty where a run does not tell it.
std::vector<double> exposed_shares(const Runs& runs, const std::string& cell) {
  const std::vector<double> steps = values_of(runs, cell, "step"), exposed = values_of(runs, cell, "exposed");
  std::vector<double> shares;
  if (steps.size() != runs.size() || exposed.size() != runs.size()) return shares;
  for (std::size_t i = 0; i < runs.size(); ++i) shares.push_back(steps[i] > 0 ? exposed[i] / steps[i] : 0);
  return shares;
}

void decide_by_itself(GateRow& row) {
  row.lower = row.upper = row.change;
  row.is_beyond_chance = row.change > row.tolerance;
  row.verdict = row.is_beyond_chance ? Verdict::regression : Verdict::pass;
  row.p_family = row.is_beyond_chance ? 0 : 1;
}

// What runs say of a figure alone is what they say of its difference from 0, in pairs.
void decide_by_limits(std::vector<GateRow*>& rows, const std::vector<std::vector<double>>& shares, double max_exposed,
                      double level) {
  std::vector<Row> figures;
  for (const std::vector<double>& share : shares) {
    Row& row = figures.emplace_back();
    row.baseline.assign(share.size(), 0);
    for (const double value : share) row.candidate.push_back(value - max_exposed);
  }
  const std::vector<Judgement> judgements = judge(figures, {.level = level, .paired = true});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]->verdict = judgements[i].verdict;
    rows[i]->lower = std::max(0.0, *judgements[i].lower + max_exposed);
    rows[i]->upper = *judgements[i].upper + max_exposed;
    rows[i]->p_family = judgements[i].p_family;
    rows[i]->is_beyond_chance = judgements[i].is_beyond_chance;
    rows[i]->runs_to_decide = judgements[i].runs_to_decide;
  }
}

}  // namespace

bool is_target(const GateRow& row) { return row.metric == kExposedShare; }

std::vector<GateRow> target_rows(const Runs& runs, double max_exposed, double level) {
  std::vector<GateRow> rows;
  rows.reserve(runs.front().cells.size());
  std::vector<GateRow*> with_spread;
  std::vector<std::vector<double>> shares;
  const bool is_exact = std::ranges::all_of(runs, [](const RunFigures& run) { return run.is_exact; });
  for (const CellFigures& cell : runs.front().cells) {
    GateRow& row =
        rows.emplace_back(GateRow{.cell = cell.name, .metric = std::string(kExposedShare), .tolerance = max_exposed});
    std::vector<double> of_cell = exposed_shares(runs, cell.name);
    row.is_missing = of_cell.empty();
    if (row.is_missing) {
      row.words = "not every run tells the exposed time";
      continue;
    }
    row.candidate = row.change = mean(of_cell);
    if (is_exact || of_cell.size() == 1) {
      decide_by_itself(row);
      continue;
    }
    with_spread.push_back(&row);
    shares.push_back(std::move(of_cell));
  }
  decide_by_limits(with_spread, shares, max_exposed, level);
  return rows;
}

}  // namespace underlap::gate
