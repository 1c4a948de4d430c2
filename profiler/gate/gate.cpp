// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "profiler/gate/sides.hpp"

namespace underlap::gate {
namespace {

// What the other metrics together may use of the chance of a false alarm, in those of one cell's step: they follow the
// step, and every test more would hide a change of it.
constexpr double kOtherMetricsShare = 0.02;

// From the one that says most for a cell's values to the one that says least.
constexpr std::array<std::string_view, 6> kLabels{"reference",       "bit_identical", "reordered",
                                                  "lower_precision", "not_checked",   "mismatch"};

// A row with what it was made of: figures that judge() takes.
struct Judged {
  GateRow row;
  Row figures = {};
  double step_ns = 0;  // of the baseline
};

std::vector<double> values_of(const Runs& runs, const std::string& cell, const std::string& metric) {
  std::vector<double> values;
  for (const RunFigures& run : runs) {
    const auto& metrics = compare::find_cell(run, cell)->metrics;
    const auto found = metrics.find(metric);
    if (found != metrics.end())
      values.push_back(found->second);
    else if (metric.starts_with("exposed.") && metrics.contains("exposed"))
      values.push_back(0);  // nothing of that mode was sent
  }
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::uint32_t pool_of(std::string_view metric) {
  if (metric == "step") return 0;
  if (metric == "exposed") return 1;
  return metric == "efficiency" ? 3 : 2;
}

// The unit in which runs are compared: logarithms of steps, exposed time in the baseline's steps, efficiency turned
// round, so that larger is worse throughout.
double figure_of(std::string_view metric, double value, double step_ns) {
  if (metric == "step") return std::log(value);
  return metric == "efficiency" ? -value : value / step_ns;
}

Judged judged(const Runs& baseline, const Runs& candidate, const std::string& cell, const std::string& metric,
              const Rule& rule) {
  const std::vector<double> before = values_of(baseline, cell, metric);
  const std::vector<double> now = values_of(candidate, cell, metric);
  Judged judged{.row = {.cell = cell, .metric = metric, .decides = rule.decides}};
  judged.step_ns = mean(values_of(baseline, cell, "step"));
  judged.row.baseline = mean(before);
  judged.row.candidate = mean(now);
  const bool is_time = metric != "efficiency";
  judged.row.tolerance = std::max(rule.max_regression.share, is_time ? rule.max_regression.ns / judged.step_ns : 0);
  for (const double value : before) judged.figures.baseline.push_back(figure_of(metric, value, judged.step_ns));
  for (const double value : now) judged.figures.candidate.push_back(figure_of(metric, value, judged.step_ns));
  judged.figures.tolerance = metric == "step" ? std::log1p(judged.row.tolerance) : judged.row.tolerance;
  judged.figures.pool = pool_of(metric);
  return judged;
}

bool is_unchanged(const Row& row) {
  const auto equal = [&](double value) { return value == row.baseline.front(); };
  return std::ranges::all_of(row.baseline, equal) && std::ranges::all_of(row.candidate, equal);
}

void take(const Judgement& judgement, GateRow& row) {
  const auto share = [&](double figure) { return row.metric == "step" ? std::expm1(figure) : figure; };
  const auto share_of = [&](std::optional<double> figure) { return figure ? std::optional(share(*figure)) : figure; };
  row.verdict = judgement.verdict;
  row.change = share(judgement.change);
  row.lower = share_of(judgement.lower);
  row.upper = share_of(judgement.upper);
  row.p_family = judgement.p_family;
  row.is_beyond_chance = judgement.is_beyond_chance;
  row.smallest_seen = share_of(judgement.smallest_seen);
  row.runs_to_decide = judgement.runs_to_decide;
}

// Rows of one spread each: where a person states it, it is that of the step, and says nothing of efficiency.
void judge_rows(std::vector<Judged*> rows, const JudgeOptions& options) {
  if (rows.empty()) return;
  std::vector<Row> figures;
  for (const Judged* judged : rows) figures.push_back(judged->figures);
  const std::vector<Judgement> judgements = judge(figures, options);
  for (std::size_t i = 0; i < rows.size(); ++i) take(judgements[i], rows[i]->row);
}

void weigh(std::vector<Judged*>& rows) {
  const auto steps = std::ranges::count_if(rows, [](const Judged* judged) { return judged->row.metric == "step"; });
  const auto others = static_cast<std::ptrdiff_t>(rows.size()) - steps;
  if (steps == 0 || others == 0) return;
  for (Judged* judged : rows)
    if (judged->row.metric != "step")
      judged->figures.weight = kOtherMetricsShare * static_cast<double>(steps) / static_cast<double>(others);
}

void judge_all(std::vector<Judged>& all, const GateReport& report) {
  std::vector<Judged*> family, efficiency;
  for (Judged& judged : all) {
    if (is_unchanged(judged.figures)) {
      judged.row.verdict = Verdict::pass;
      judged.row.lower = judged.row.upper = 0.0;
      continue;
    }
    const bool is_apart = report.run_sd && judged.row.metric == "efficiency";
    (is_apart ? efficiency : family).push_back(&judged);
  }
  weigh(family);
  JudgeOptions options{
      .level = report.level, .paired = report.is_paired, .exact = report.is_exact, .run_sd = report.run_sd};
  judge_rows(family, options);
  options.run_sd.reset();
  judge_rows(efficiency, options);
}

GateRow bytes_row(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rule& rule) {
  GateRow row{.cell = cell, .metric = "bytes", .decides = rule.decides};
  row.baseline = mean(values_of(baseline, cell, "bytes"));
  row.candidate = mean(values_of(candidate, cell, "bytes"));
  row.tolerance = rule.max_regression.share;
  // What was not sent before is all new, however little it is.
  row.change = row.baseline > 0 ? row.candidate / row.baseline - 1 : row.candidate > 0 ? 1 : 0;
  row.lower = row.upper = row.change;
  row.verdict = row.change > row.tolerance ? Verdict::regression : Verdict::pass;
  row.is_beyond_chance = row.change > 0;
  row.p_family = row.change > 0 ? 0 : 1;
  return row;
}

std::string_view worst_label(const Runs& runs, const std::string& cell) {
  std::string_view worst = kLabels.front();
  for (const RunFigures& run : runs) {
    const std::string_view label = compare::find_cell(run, cell)->numerics;
    if (std::ranges::find(kLabels, label) > std::ranges::find(kLabels, worst)) worst = label;
  }
  return worst;
}

// A cell whose values were not compared with any in the candidate is no proof of anything, whatever they were before.
GateRow numerics_row(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rule& rule) {
  const std::string_view before = worst_label(baseline, cell), now = worst_label(candidate, cell);
  GateRow row{.cell = cell, .metric = "numerics", .verdict = Verdict::pass, .decides = rule.decides};
  row.words = before == now ? std::string(now) : std::string(before) + " -> " + std::string(now);
  if (std::ranges::find(kLabels, now) <= std::ranges::find(kLabels, before)) return row;
  row.verdict = now == "not_checked" ? Verdict::inconclusive : Verdict::regression;
  row.change = 1;
  return row;
}

bool all_tell(const Runs& runs, const std::string& cell, const std::string& metric) {
  return values_of(runs, cell, metric).size() == runs.size();
}

// The metrics of a cell that every run of both sides tells, in the order of the report.
std::vector<std::string> metrics_of(const Runs& baseline, const Runs& candidate, const std::string& cell) {
  std::set<std::string> modes;
  for (const Runs* side : {&baseline, &candidate})
    for (const RunFigures& run : *side)
      for (const auto& [metric, value] : compare::find_cell(run, cell)->metrics)
        if (metric.starts_with("exposed.")) modes.insert(metric);
  std::vector<std::string> metrics{"step", "exposed"};
  metrics.insert(metrics.end(), modes.begin(), modes.end());
  metrics.insert(metrics.end(), {"efficiency", "bytes"});
  std::erase_if(metrics, [&](const std::string& metric) {
    return !all_tell(baseline, cell, metric) || !all_tell(candidate, cell, metric);
  });
  return metrics;
}

void add_rows(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rules& rules,
              std::vector<Judged>& with_spread, std::vector<GateRow>& rows) {
  for (const std::string& metric : metrics_of(baseline, candidate, cell)) {
    const Rule* rule = rules.find(metric, cell);
    if (rule == nullptr || !rule->is_judged) continue;
    if (metric == "bytes")
      rows.push_back(bytes_row(baseline, candidate, cell, *rule));
    else
      with_spread.push_back(judged(baseline, candidate, cell, metric, *rule));
  }
  const Rule* rule = rules.find("numerics", cell);
  const bool is_known = !compare::find_cell(baseline.front(), cell)->numerics.empty() &&
                        !compare::find_cell(candidate.front(), cell)->numerics.empty();
  if (rule != nullptr && rule->is_judged && is_known) rows.push_back(numerics_row(baseline, candidate, cell, *rule));
}

GateCell cell_of(const Runs& baseline, const Runs& candidate, const std::string& name) {
  GateCell cell{.name = name, .has_other_schedule = false, .moved = moved_operations(baseline, candidate, name)};
  const std::string& before = compare::find_cell(baseline.front(), name)->schedule;
  const std::string& now = compare::find_cell(candidate.front(), name)->schedule;
  cell.has_other_schedule = !before.empty() && !now.empty() && before != now;
  return cell;
}

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

// Of cells that the baseline does not have.
std::vector<std::string> unused_patterns(const Rules& rules, const RunFigures& run) {
  std::vector<std::string> unused;
  for (const Rule& rule : rules.rules)
    if (std::ranges::none_of(run.cells, [&](const CellFigures& cell) { return matches(rule.cells, cell.name); }))
      unused.push_back(rule.cells);
  return unused;
}

bool is_spread_unknown(const GateReport& report, const Runs& baseline, const Runs& candidate) {
  return !report.is_exact && !report.run_sd && baseline.size() + candidate.size() <= 2;
}

}  // namespace

GateReport run_gate(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  compare::check_sides(baseline, candidate);
  compare::check_cells(baseline.front(), candidate.front(), "the baseline");
  GateReport report{.baseline = info_of(baseline), .candidate = info_of(candidate)};
  report.forced = compare::not_comparable(baseline, candidate);
  if (!report.forced.empty() && !options.is_forced)
    throw std::invalid_argument(report.forced +
                                "\n  that is no regression but another run; --force compares all the same");
  report.warnings = warnings_of(baseline, candidate);
  report.differences = compare::differences_of(baseline, candidate);
  report.is_paired = are_paired(baseline, candidate);
  const auto is_exact = [](const RunFigures& run) { return run.is_exact; };
  report.is_exact = std::ranges::all_of(baseline, is_exact) && std::ranges::all_of(candidate, is_exact);
  report.level = options.level;
  if (!report.is_exact) report.run_sd = options.run_sd;
  if (is_spread_unknown(report, baseline, candidate))
    report.warnings.emplace_back(
        "one run a side does not tell how far runs lie apart, so that nothing can be called a regression: measure with "
        "`underlap run --runs 5`, or state the spread with --run-sd");
  if (report.is_exact && options.run_sd)
    report.warnings.emplace_back("virtual time has no spread between runs: --run-sd is not used");
  for (const std::string& pattern : unused_patterns(options.rules, baseline.front()))
    report.warnings.push_back(fmt::format("a rule is for cells {}, and the baseline has none", pattern));
  std::vector<Judged> with_spread;
  for (const CellFigures& cell : baseline.front().cells) {
    add_rows(baseline, candidate, cell.name, options.rules, with_spread, report.rows);
    report.cells.push_back(cell_of(baseline, candidate, cell.name));
  }
  judge_all(with_spread, report);
  for (Judged& judged : with_spread) report.rows.push_back(std::move(judged.row));
  if (report.rows.empty()) throw std::invalid_argument("gate: the rules leave nothing to judge");
  sort_rows(report.rows);
  report.verdict = verdict_of(report.rows);
  return report;
}

}  // namespace underlap::gate
