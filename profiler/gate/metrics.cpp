// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "platform/text/list.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostNamed = 5;

void add_modes(const Runs& runs, const std::string& cell, std::set<std::string>& modes) {
  for (const RunFigures& run : runs)
    for (const auto& [metric, value] : compare::find_cell(run, cell)->metrics)
      if (metric.starts_with("exposed.")) modes.insert(metric);
}

bool all_tell(const Runs& runs, const std::string& cell, const std::string& metric) {
  return values_of(runs, cell, metric).size() == runs.size();
}

bool is_all_that_is_exposed(const Runs& runs, const std::string& cell, const std::string& mode) {
  constexpr double kRounding = 1e-9;  // the two are summed in another order
  return std::ranges::equal(values_of(runs, cell, mode), values_of(runs, cell, "exposed"),
                            [](double one, double all) { return std::abs(one - all) <= kRounding * std::abs(all); });
}

bool asks_for_no_more(const Rule* of_mode, const Rule* of_all) {
  if (of_mode == nullptr || !of_mode->is_judged) return true;
  if (of_all == nullptr || !of_all->is_judged || (of_mode->decides && !of_all->decides)) return false;
  return of_mode->max_regression.share >= of_all->max_regression.share &&
         of_mode->max_regression.ns >= of_all->max_regression.ns;
}

// "the candidate does not tell it"; empty where nothing is amiss, or the baseline never told it.
std::string why_missing(const Runs& baseline, const Runs& candidate, const std::string& cell,
                        const std::string& metric) {
  const std::size_t before = values_of(baseline, cell, metric).size();
  const std::size_t now = values_of(candidate, cell, metric).size();
  if (before == 0) return "";
  if (now == 0) return "the candidate does not tell it";
  if (now < candidate.size()) return fmt::format("{} of the candidate's {} runs tell it", now, candidate.size());
  return before < baseline.size() ? fmt::format("{} of the baseline's {} runs tell it", before, baseline.size()) : "";
}

class MissingByKind {
 public:
  void add(const std::string& cell, const std::string& metric, const std::string& why) {
    auto& [metrics, cells] = kinds_[{why, how_to_tell(metric)}];
    for (const auto& [names, name] : {std::pair{&metrics, &metric}, std::pair{&cells, &cell}})
      if (std::ranges::find(*names, *name) == names->end()) names->push_back(*name);
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> warnings;
    for (const auto& [kind, names] : kinds_)
      warnings.push_back(fmt::format("not judged: {} of {}, since {}; {}", fmt::join(names.first, ", "),
                                     short_list(names.second, kMostNamed), kind.first, kind.second));
    return warnings;
  }

 private:
  using Names = std::vector<std::string>;
  std::map<std::pair<std::string, std::string>, std::pair<Names, Names>> kinds_;
};

}  // namespace

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double geometric_mean(const std::vector<double>& values) {
  // Of equal ones exactly they: nanoseconds of virtual time are no logarithms' roundings.
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) return values.front();
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::vector<double> values_of(const Runs& runs, const std::string& cell, const std::string& metric) {
  std::vector<double> values;
  for (const RunFigures& run : runs) {
    const auto& metrics = compare::find_cell(run, cell)->metrics;
    const auto found = metrics.find(metric);
    if (found != metrics.end())
      values.push_back(found->second);
    else if (metric.starts_with("exposed.") && metrics.contains("exposed"))
      values.push_back(0);
  }
  return values;
}

CellMetrics metrics_of(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rules& rules) {
  std::set<std::string> modes;
  add_modes(baseline, cell, modes);
  add_modes(candidate, cell, modes);
  std::erase_if(modes, [&](const std::string& mode) {
    return is_all_that_is_exposed(baseline, cell, mode) && is_all_that_is_exposed(candidate, cell, mode) &&
           asks_for_no_more(rules.find(mode, cell), rules.find("exposed", cell));
  });
  std::vector<std::string> names{"step", "exposed"};
  names.insert(names.end(), modes.begin(), modes.end());
  names.insert(names.end(), {"efficiency", "bytes"});
  CellMetrics metrics;
  for (const std::string& metric : names) {
    if (all_tell(baseline, cell, metric) && all_tell(candidate, cell, metric))
      metrics.told.push_back(metric);
    else if (std::string why = why_missing(baseline, candidate, cell, metric); !why.empty())
      metrics.missing.push_back({metric, std::move(why)});
  }
  return metrics;
}

std::vector<std::string> known_metrics(const Runs& baseline, const Runs& candidate) {
  std::set<std::string> names;
  for (const Runs* side : {&baseline, &candidate})
    for (const RunFigures& run : *side)
      for (const CellFigures& cell : run.cells) {
        for (const auto& [metric, value] : cell.metrics) names.insert(metric);
        if (!cell.numerics.empty()) names.insert("numerics");
      }
  return {names.begin(), names.end()};
}

std::string how_to_tell(const std::string& metric) {
  if (metric == "numerics") return "traces hold no values: name the folders of runs";
  if (metric == "efficiency")
    return "it needs the cells with overlap off and without transfers in one run, and communication that is clearly "
           "above the noise";
  return "measure with run.trace: true";
}

std::vector<std::string> missing_warnings(const std::vector<GateRow>& rows, const Runs& baseline,
                                          const Runs& candidate) {
  MissingByKind kinds;
  for (const GateRow& row : rows)
    if (row.is_missing) kinds.add(row.cell, row.metric, row.words);
  for (const CellFigures& cell : baseline.front().cells)
    for (const char* metric : {"exposed", "efficiency", "bytes"})
      if (values_of(baseline, cell.name, metric).empty() && all_tell(candidate, cell.name, metric))
        kinds.add(cell.name, metric, "the baseline does not tell it");
  return kinds.warnings();
}

}  // namespace underlap::gate
