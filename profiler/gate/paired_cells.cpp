// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/paired_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace underlap::gate {
namespace {

using Cells = std::vector<const CellFigures*>;

Cells cells_named(const Runs& runs, const std::string& name) {
  Cells cells;
  for (const RunFigures& run : runs)
    if (const CellFigures* cell = compare::find_cell(run, name)) cells.push_back(cell);
  return cells;
}

// A mode that sent nothing is exposed for 0.
std::vector<double> values_of(const Cells& cells, const std::string& metric) {
  std::vector<double> values;
  for (const CellFigures* cell : cells) {
    const auto found = cell->metrics.find(metric);
    if (found != cell->metrics.end())
      values.push_back(found->second);
    else if (metric.starts_with("exposed.") && cell->metrics.contains("exposed"))
      values.push_back(0);
  }
  return values;
}

std::string why_missing(const PairedCell& cell, const PairedMetric& metric) {
  const std::size_t before = metric.baseline.size(), now = metric.candidate.size();
  if (before == 0) return "missing from the baseline";
  if (now == 0) return "missing from the candidate";
  if (now < cell.candidate.size())
    return fmt::format("reported by only {} of the candidate's {} runs", now, cell.candidate.size());
  return before < cell.baseline.size()
             ? fmt::format("reported by only {} of the baseline's {} runs", before, cell.baseline.size())
             : "";
}

bool is_all_that_is_exposed(const std::vector<double>& of_mode, const std::vector<double>& of_all) {
  constexpr double kRounding = 1e-9;  // the two are summed in another order
  return std::ranges::equal(of_mode, of_all,
                            [](double one, double all) { return std::abs(one - all) <= kRounding * std::abs(all); });
}

bool asks_for_no_more(const Rule* of_mode, const Rule* of_all) {
  if (of_mode == nullptr) return true;
  if (of_all == nullptr || (of_mode->decides && !of_all->decides)) return false;
  return of_mode->max_regression.share >= of_all->max_regression.share &&
         of_mode->max_regression.ns >= of_all->max_regression.ns;
}

const Rule* rule_for(const Rules& rules, const std::string& metric, const std::string& cell) {
  const Rule* rule = rules.find(metric, cell);
  return rule != nullptr && rule->is_judged ? rule : nullptr;
}

std::vector<PairedMetric> metrics_of(const PairedCell& cell, const Rules& rules) {
  std::set<std::string> modes;
  for (const Cells* side : {&cell.baseline, &cell.candidate})
    for (const CellFigures* figures : *side)
      for (const auto& [metric, value] : figures->metrics)
        if (metric.starts_with("exposed.")) modes.insert(metric);
  std::vector<std::string> names{"step", "exposed"};
  names.insert(names.end(), modes.begin(), modes.end());
  names.insert(names.end(), {"efficiency", "bytes"});
  std::vector<PairedMetric> metrics;
  for (const std::string& name : names) {
    PairedMetric& metric = metrics.emplace_back(PairedMetric{.name = name,
                                                             .baseline = values_of(cell.baseline, name),
                                                             .candidate = values_of(cell.candidate, name),
                                                             .rule = rule_for(rules, name, cell.name)});
    metric.missing = why_missing(cell, metric);
  }
  std::erase_if(metrics, [exposed = metrics[1]](const PairedMetric& metric) {
    return metric.name.starts_with("exposed.") && is_all_that_is_exposed(metric.baseline, exposed.baseline) &&
           is_all_that_is_exposed(metric.candidate, exposed.candidate) && asks_for_no_more(metric.rule, exposed.rule);
  });
  if (!cell.baseline_label.empty())
    metrics.push_back({.name = "numerics",
                       .rule = rule_for(rules, "numerics", cell.name),
                       .missing = cell.candidate_label.empty() ? "missing from the candidate" : ""});
  return metrics;
}

// Orders labels from the one that proves most to the one that proves least.
std::size_t rank_of_label(std::string_view label) {
  constexpr std::array<std::string_view, 5> kLabels{"bit_identical", "reordered", "lower_precision", "not_checked",
                                                    "mismatch"};
  // A reference is a role, which a change of the matrix's order gives to another cell: its values are bit-identical to
  // themselves.
  if (label == "reference") label = "bit_identical";
  return static_cast<std::size_t>(std::ranges::find(kLabels, label) - kLabels.begin());
}

std::string_view worst_label(const Cells& cells) {
  std::string_view worst = cells.empty() ? "" : std::string_view(cells.front()->numerics);
  for (const CellFigures* cell : cells) {
    if (cell->numerics.empty()) return "";
    if (rank_of_label(cell->numerics) > rank_of_label(worst)) worst = cell->numerics;
  }
  return worst;
}

Counted counted_of(const OperationFigure& operation) {
  if (operation.is_communication) return Counted::exposed;
  return operation.name == compare::kCopies ? Counted::copy : Counted::compute;
}

bool has_copies(const CellFigures* cell) { return std::ranges::count(cell->operations, Counted::copy, counted_of) > 0; }

std::vector<MovedOperation> operations_of(const PairedCell& cell) {
  // Baselines of before copies were reported lack them.
  const bool all_have_copies =
      std::ranges::all_of(cell.baseline, has_copies) && std::ranges::all_of(cell.candidate, has_copies);
  std::map<std::pair<Counted, std::string>, MovedOperation> operations;
  const auto add = [&](const Cells& side, double MovedOperation::*mean) {
    for (const CellFigures* figures : side)
      for (const OperationFigure& operation : figures->operations) {
        const auto add_figure = [&](Counted counted, double figure) {
          MovedOperation& sum = operations[{counted, operation.name}];
          sum.name = operation.name;
          sum.counted = counted;
          sum.*mean += figure / static_cast<double>(side.size());
        };
        const Counted counted = counted_of(operation);
        if (counted == Counted::exposed) add_figure(Counted::bytes, operation.bytes);
        if (counted != Counted::copy || all_have_copies)
          add_figure(counted, counted == Counted::exposed ? operation.exposed_ns : operation.busy_ns);
      }
  };
  add(cell.baseline, &MovedOperation::baseline);
  add(cell.candidate, &MovedOperation::candidate);
  std::vector<MovedOperation> all;
  for (auto& [key, operation] : operations) all.push_back(std::move(operation));
  return all;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  // Equal values are returned unchanged: nanoseconds of virtual time get no rounding from logarithms.
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) return values.front();
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

std::vector<PairedCell> pair_cells(const Runs& baseline, const Runs& candidate, const Rules& rules) {
  std::vector<PairedCell> cells;
  for (const Runs* side : {&baseline, &candidate}) {
    if (side->empty()) continue;
    for (const CellFigures& figures : side->front().cells) {
      if (std::ranges::find(cells, figures.name, &PairedCell::name) != cells.end()) continue;
      PairedCell& cell = cells.emplace_back(PairedCell{.name = figures.name,
                                                       .baseline = cells_named(baseline, figures.name),
                                                       .candidate = cells_named(candidate, figures.name)});
      cell.baseline_label = worst_label(cell.baseline);
      cell.candidate_label = worst_label(cell.candidate);
      cell.is_label_worse = rank_of_label(cell.candidate_label) > rank_of_label(cell.baseline_label);
      cell.metrics = metrics_of(cell, rules);
      cell.baseline_step_ns = geometric_mean(cell.metrics.front().baseline);
      cell.candidate_step_ns = geometric_mean(cell.metrics.front().candidate);
      cell.operations = operations_of(cell);
    }
  }
  return cells;
}

}  // namespace underlap::gate
