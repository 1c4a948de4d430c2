// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "profiler/analysis/not_comparable.hpp"
#include "profiler/gate/metrics.hpp"
#include "profiler/gate/sides.hpp"
#include "profiler/gate/target.hpp"
#include "profiler/gate/words.hpp"

namespace underlap::gate {
namespace {

// What exposed times, and all metrics beside, may use of the chance of a false alarm, as shares of what the steps may:
// every test more hides a change of a step. results/gate_power has what is found with these.
constexpr double kExposedShare = 0.3;
constexpr double kWatchedShare = 0.02;

// From what says most for a cell's values to what says least.
constexpr std::array<std::string_view, 5> kLabels{"bit_identical", "reordered", "lower_precision", "not_checked",
                                                  "mismatch"};

// A row with what it was made of: figures that judge() takes.
struct Judged {
  GateRow row;
  Row figures = {};
  double step_ns = 0;  // of the baseline
};

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
  judged.step_ns = geometric_mean(values_of(baseline, cell, "step"));
  judged.row.baseline = metric == "step" ? judged.step_ns : mean(before);
  judged.row.candidate = metric == "step" ? geometric_mean(now) : mean(now);
  // Of efficiency, too: what the time is of the step.
  judged.row.tolerance = std::max(rule.max_regression.share, rule.max_regression.ns / judged.step_ns);
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

void judge_rows(std::vector<Judged*> rows, const JudgeOptions& options) {
  if (rows.empty()) return;
  std::vector<Row> figures;
  for (const Judged* judged : rows) figures.push_back(judged->figures);
  const std::vector<Judgement> judgements = judge(figures, options);
  for (std::size_t i = 0; i < rows.size(); ++i) take(judgements[i], rows[i]->row);
}

bool is_watched(const Judged* judged) { return judged->row.metric != "step" && judged->row.metric != "exposed"; }

// Rows of one kind use `share` of what the steps' rows do, each as much.
template <class IsOfKind>
void weigh(std::vector<Judged*>& rows, double share, const IsOfKind& is_of_kind) {
  const auto steps = std::ranges::count_if(rows, [](const Judged* judged) { return judged->row.metric == "step"; });
  const auto others = std::ranges::count_if(rows, is_of_kind);
  if (steps == 0 || others == 0) return;
  for (Judged* judged : rows)
    if (is_of_kind(judged)) judged->figures.weight = share * static_cast<double>(steps) / static_cast<double>(others);
}

// A spread that a person states is that of the step, and says nothing of efficiency, of which one run a side tells
// none: the second family finds no regression, and uses up nothing of the first one's chance.
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
  weigh(family, kExposedShare, [](const Judged* judged) { return judged->row.metric == "exposed"; });
  weigh(family, kWatchedShare, is_watched);
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

// A reference is a role, which a change of the matrix's order gives to another cell: its values are bit-identical to
// themselves.
std::size_t rank_of(std::string_view label) {
  if (label == "reference") label = "bit_identical";
  return static_cast<std::size_t>(std::ranges::find(kLabels, label) - kLabels.begin());
}

std::string_view worst_label(const Runs& runs, const std::string& cell) {
  std::string_view worst = compare::find_cell(runs.front(), cell)->numerics;
  for (const RunFigures& run : runs) {
    const std::string_view label = compare::find_cell(run, cell)->numerics;
    if (rank_of(label) > rank_of(worst)) worst = label;
  }
  return worst;
}

// A cell whose values were not compared with any in the candidate is no proof of anything, whatever they were before.
GateRow numerics_row(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rule& rule) {
  const std::string_view before = worst_label(baseline, cell), now = worst_label(candidate, cell);
  GateRow row{.cell = cell, .metric = "numerics", .verdict = Verdict::pass, .decides = rule.decides};
  row.words = before == now ? std::string(now) : std::string(before) + " -> " + std::string(now);
  if (rank_of(now) <= rank_of(before)) return row;
  row.verdict = now == "not_checked" ? Verdict::inconclusive : Verdict::regression;
  row.change = 1;
  return row;
}

bool all_have_labels(const Runs& runs, const std::string& cell) {
  return std::ranges::none_of(runs,
                              [&](const RunFigures& run) { return compare::find_cell(run, cell)->numerics.empty(); });
}

GateRow missing_row(const Runs& baseline, const std::string& cell, const MissingMetric& missing, const Rule& rule) {
  GateRow row{.cell = cell, .metric = missing.metric, .decides = rule.decides};
  row.words = missing.why;
  row.is_missing = true;
  if (missing.metric != "numerics") row.baseline = mean(values_of(baseline, cell, missing.metric));
  return row;
}

// A metric that no rule asks for is not judged.
const Rule* asked_for(const Rules& rules, const std::string& metric, const std::string& cell) {
  const Rule* rule = rules.find(metric, cell);
  return rule != nullptr && rule->is_judged ? rule : nullptr;
}

void add_numerics_row(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rules& rules,
                      std::vector<GateRow>& rows) {
  const Rule* rule = asked_for(rules, "numerics", cell);
  if (rule == nullptr || !all_have_labels(baseline, cell)) return;
  rows.push_back(all_have_labels(candidate, cell)
                     ? numerics_row(baseline, candidate, cell, *rule)
                     : missing_row(baseline, cell, {"numerics", "the candidate does not tell it"}, *rule));
}

void add_rows(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rules& rules,
              std::vector<Judged>& with_spread, std::vector<GateRow>& rows) {
  const CellMetrics metrics = metrics_of(baseline, candidate, cell, rules);
  for (const std::string& metric : metrics.told) {
    const Rule* rule = asked_for(rules, metric, cell);
    if (rule == nullptr) continue;
    if (metric == "bytes")
      rows.push_back(bytes_row(baseline, candidate, cell, *rule));
    else
      with_spread.push_back(judged(baseline, candidate, cell, metric, *rule));
  }
  for (const MissingMetric& missing : metrics.missing)
    if (const Rule* rule = asked_for(rules, missing.metric, cell))
      rows.push_back(missing_row(baseline, cell, missing, *rule));
  add_numerics_row(baseline, candidate, cell, rules, rows);
}

GateCell cell_of(const Runs& baseline, const Runs& candidate, const std::string& name) {
  const double change =
      geometric_mean(values_of(candidate, name, "step")) - geometric_mean(values_of(baseline, name, "step"));
  GateCell cell{
      .name = name, .has_other_schedule = false, .moved = moved_operations(baseline, candidate, name, "step", change)};
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

// A faster step may expose more communication, for example because its compute got shorter. That growth is a warning.
// It fails the gate only where a rules file sets a tolerance for exposed time.
std::vector<std::string> excuse_growth_in_faster_steps(std::vector<GateRow>& rows, const Rules& rules) {
  std::set<std::string> faster;
  for (const GateRow& row : rows)
    if (row.metric == "step" && row.upper && *row.upper < 0) faster.insert(row.cell);
  std::vector<std::string> grown;
  for (GateRow& row : rows) {
    const bool is_exposure = row.metric.starts_with("exposed") && !row.is_missing;
    if (!is_exposure || row.verdict == Verdict::pass || !faster.contains(row.cell)) continue;
    if (!rules.find(row.metric, row.cell)->is_default) continue;
    if (row.verdict == Verdict::regression)
      grown.push_back(fmt::format("{}: {}; no regression, since the step is faster", row.cell, row_sentence(row)));
    row.verdict = Verdict::pass;
  }
  return grown;
}

Verdict verdict_of(const std::vector<GateRow>& rows) {
  Verdict verdict = Verdict::pass;
  for (const GateRow& row : rows) {
    if (row.verdict == Verdict::regression) return Verdict::regression;
    if (row.verdict == Verdict::inconclusive && row.decides) verdict = Verdict::inconclusive;
  }
  return verdict;
}

// Rules of a person's that fit nothing.
std::vector<std::string> vain_rules(const Rules& rules, const Runs& baseline, const Runs& candidate) {
  std::vector<std::string> warnings;
  const std::vector<std::string> metrics = known_metrics(baseline, candidate);
  for (const Rule& rule : rules.rules) {
    if (rule.is_default) continue;
    if (std::ranges::none_of(baseline.front().cells,
                             [&](const CellFigures& cell) { return matches(rule.cells, cell.name); }))
      warnings.push_back(fmt::format("a rule is for cells {}, and the baseline has none", rule.cells));
    if (std::ranges::none_of(metrics, [&](const std::string& metric) { return matches(rule.metric, metric); }))
      warnings.push_back(fmt::format("a rule is for metric {}, and these runs tell none; they tell {}", rule.metric,
                                     fmt::join(metrics, ", ")));
  }
  return warnings;
}

// Figures that runs give are not put aside for one that a person gives.
void check_run_sd(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  const auto is_exact = [](const RunFigures& run) { return run.is_exact; };
  if (!options.run_sd || std::ranges::all_of(baseline, is_exact)) return;
  if (baseline.size() + candidate.size() > 2)
    throw std::invalid_argument(
        fmt::format("--run-sd: these runs tell their spread themselves ({} of the baseline, {} of the candidate)\n  "
                    "leave --run-sd out; it is for one run a side",
                    baseline.size(), candidate.size()));
}

bool is_spread_unknown(const GateReport& report, const Runs& baseline, const Runs& candidate) {
  return !report.is_exact && !report.run_sd && baseline.size() + candidate.size() <= 2;
}

void add_target_rows(const Runs& runs, const GateOptions& options, GateReport& report) {
  report.max_exposed = options.max_exposed;
  if (!options.max_exposed) return;
  for (GateRow& row : target_rows(runs, *options.max_exposed, options.level)) report.rows.push_back(std::move(row));
}

GateReport judged_by_target(const Runs& runs, const GateOptions& options) {
  compare::check_sides(runs, runs);
  compare::refuse_same_run({}, runs);
  GateReport report{.candidate = info_of(runs), .forced = compare::not_comparable(runs, runs)};
  if (!report.forced.empty() && !options.is_forced)
    throw analysis::NotComparable(report.forced, "judge them one by one; --force judges them as equal runs");
  report.is_exact = std::ranges::all_of(runs, [](const RunFigures& run) { return run.is_exact; });
  report.level = options.level;
  add_target_rows(runs, options, report);
  for (const CellFigures& cell : runs.front().cells) report.cells.push_back({.name = cell.name});
  sort_rows(report.rows);
  report.verdict = verdict_of(report.rows);
  return report;
}

}  // namespace

GateReport run_gate(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  if (baseline.empty() && options.max_exposed) return judged_by_target(candidate, options);
  compare::check_sides(baseline, candidate);
  compare::refuse_same_run(baseline, candidate);
  compare::check_cells(baseline.front(), candidate.front(), "the baseline");
  check_run_sd(baseline, candidate, options);
  GateReport report{.baseline = info_of(baseline), .candidate = info_of(candidate)};
  report.forced = trace_against_run(baseline, candidate);
  if (report.forced.empty()) report.forced = compare::not_comparable(baseline, candidate);
  if (!report.forced.empty() && !options.is_forced)
    throw analysis::NotComparable(report.forced,
                                  "that is no regression but another run; --force compares all the same");
  report.warnings = warnings_of(baseline, candidate);
  report.differences = compare::differences_of(baseline, candidate);
  report.is_paired = are_paired(baseline, candidate);
  const auto is_exact = [](const RunFigures& run) { return run.is_exact; };
  report.is_exact = std::ranges::all_of(baseline, is_exact) && std::ranges::all_of(candidate, is_exact);
  report.level = options.level;
  if (!report.is_exact) report.run_sd = options.run_sd;
  if (is_spread_unknown(report, baseline, candidate))
    report.warnings.emplace_back(
        "one run a side does not tell how far runs lie apart, so that no time can be called a regression: measure with "
        "`underlap run --runs 5`, or state the spread with --run-sd");
  if (report.is_exact && options.run_sd)
    report.warnings.emplace_back("virtual time has no spread between runs: --run-sd is not used");
  for (std::string& warning : vain_rules(options.rules, baseline, candidate))
    report.warnings.push_back(std::move(warning));
  std::vector<Judged> with_spread;
  for (const CellFigures& cell : baseline.front().cells) {
    add_rows(baseline, candidate, cell.name, options.rules, with_spread, report.rows);
    report.cells.push_back(cell_of(baseline, candidate, cell.name));
  }
  judge_all(with_spread, report);
  for (Judged& judged : with_spread) report.rows.push_back(std::move(judged.row));
  if (report.rows.empty()) throw std::invalid_argument("gate: the rules leave nothing to judge");
  for (GateRow& row : report.rows)
    if (!row.is_missing) row.moved = moved_operations(baseline, candidate, row.cell, row.metric, row.change);
  for (std::string& warning : missing_warnings(report.rows, baseline, candidate))
    report.warnings.push_back(std::move(warning));
  for (std::string& warning : excuse_growth_in_faster_steps(report.rows, options.rules))
    report.warnings.push_back(std::move(warning));
  add_target_rows(candidate, options, report);
  sort_rows(report.rows);
  report.verdict = verdict_of(report.rows);
  return report;
}

}  // namespace underlap::gate
