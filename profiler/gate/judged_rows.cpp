// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/paired_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "platform/numbers/median.hpp"
#include "platform/text/list.hpp"
#include "profiler/gate/reports.hpp"

namespace underlap::gate {
namespace {

// Shares of the false-alarm probability, relative to that of the steps: for exposed times, and for all other metrics.
// Each further test makes changes of a step harder to detect. results/gate_power has the detection rates with these
// values.
constexpr double kExposedWeight = 0.3;
constexpr double kWatchedWeight = 0.02;
constexpr std::size_t kMostMoved = 5;
constexpr double kLeastShareMoved = 0.05;
constexpr std::size_t kMostNamed = 5;

// A row, the list entries that it comes from, and the figures that judge() takes.
struct JudgedRow {
  const PairedCell* cell = nullptr;
  const Rule* rule = nullptr;
  GateRow row = {};
  Row figures = {};
};

std::uint32_t pool_of(std::string_view metric) {
  if (metric == "step") return 0;
  if (metric == "exposed") return 1;
  return metric == "efficiency" ? 3 : 2;
}

// The unit in which runs are compared: logarithms of steps, exposed time in the baseline's steps, efficiency turned
// round, so that larger is worse throughout.
std::vector<double> figures_of(const std::vector<double>& values, std::string_view metric, double step_ns) {
  const auto figure_of = [&](double value) {
    if (metric == "step") return std::log(value);
    return metric == "efficiency" ? -value : value / step_ns;
  };
  std::vector<double> figures;
  for (const double value : values) figures.push_back(figure_of(value));
  return figures;
}

GateRow row_of(const PairedCell& cell, const PairedMetric& metric) {
  return {.cell = cell.name, .metric = metric.name, .decides = metric.rule->decides};
}

JudgedRow with_figures(const PairedCell& cell, const PairedMetric& metric) {
  const Rule& rule = *metric.rule;
  const bool is_step = metric.name == "step";
  const double step_ns = cell.baseline_step_ns;
  JudgedRow judged{.cell = &cell, .rule = &rule, .row = row_of(cell, metric)};
  judged.row.baseline = is_step ? step_ns : mean(metric.baseline);
  judged.row.candidate = is_step ? cell.candidate_step_ns : mean(metric.candidate);
  // Of efficiency, too: what the time is of the step.
  judged.row.tolerance = std::max(rule.max_regression.share, rule.max_regression.ns / step_ns);
  judged.figures = {.baseline = figures_of(metric.baseline, metric.name, step_ns),
                    .candidate = figures_of(metric.candidate, metric.name, step_ns),
                    .tolerance = is_step ? std::log1p(judged.row.tolerance) : judged.row.tolerance,
                    .pool = pool_of(metric.name)};
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

void judge_family(const std::vector<JudgedRow*>& rows, const JudgeOptions& options) {
  std::vector<Row> figures;
  for (const JudgedRow* judged : rows) figures.push_back(judged->figures);
  const std::vector<Judgement> judgements = judge(figures, options);
  for (std::size_t i = 0; i < rows.size(); ++i) take(judgements[i], rows[i]->row);
}

bool is_step(const JudgedRow* judged) { return judged->row.metric == "step"; }
bool is_exposed(const JudgedRow* judged) { return judged->row.metric == "exposed"; }
bool is_watched(const JudgedRow* judged) { return !is_step(judged) && !is_exposed(judged); }

// Rows of one kind use `share` of what the steps' rows do, each as much.
void weigh(const std::vector<JudgedRow*>& rows, double share, bool (*is_of_kind)(const JudgedRow*)) {
  const auto steps = std::ranges::count_if(rows, is_step);
  const auto others = std::ranges::count_if(rows, is_of_kind);
  if (steps == 0 || others == 0) return;
  for (JudgedRow* judged : rows)
    if (is_of_kind(judged)) judged->figures.weight = share * static_cast<double>(steps) / static_cast<double>(others);
}

// A spread that a person states is that of the step and not of efficiency, whose spread one run per side does not show.
// So efficiency becomes a second family: it finds no regression, and uses no false-alarm probability of the first.
void judge_all(std::vector<JudgedRow>& all, const GateReport& report) {
  std::vector<JudgedRow*> family, efficiency;
  for (JudgedRow& judged : all) {
    if (is_unchanged(judged.figures)) {
      judged.row.verdict = Verdict::pass;
      judged.row.lower = judged.row.upper = 0.0;
      continue;
    }
    const bool is_apart = report.run_sd && judged.row.metric == "efficiency";
    (is_apart ? efficiency : family).push_back(&judged);
  }
  weigh(family, kExposedWeight, is_exposed);
  weigh(family, kWatchedWeight, is_watched);
  JudgeOptions options{
      .level = report.level, .paired = report.is_paired, .exact = report.is_exact, .run_sd = report.run_sd};
  judge_family(family, options);
  options.run_sd.reset();
  judge_family(efficiency, options);
}

bool can_move(const MovedOperation& operation, const std::string& metric) {
  if (metric == "bytes") return operation.counted == Counted::bytes;
  if (metric.starts_with("exposed")) return operation.counted == Counted::exposed;
  return metric != "numerics" && operation.counted != Counted::bytes;
}

// The operations that moved a metric, the largest change first: at most five, each at least a twentieth of the first.
// `direction` below 0 selects what shrank, else what grew.
std::vector<MovedOperation> moved_operations(const PairedCell& cell, const std::string& metric, double direction) {
  const double sign = direction < 0 ? -1 : 1;
  std::vector<MovedOperation> moved;
  for (const MovedOperation& operation : cell.operations)
    if (can_move(operation, metric) && sign * operation.delta() > 0) moved.push_back(operation);
  std::ranges::stable_sort(moved, std::ranges::greater(),
                           [](const MovedOperation& operation) { return std::abs(operation.delta()); });
  std::erase_if(moved, [least = moved.empty() ? 0 : kLeastShareMoved * std::abs(moved.front().delta())](
                           const MovedOperation& operation) { return std::abs(operation.delta()) < least; });
  if (moved.size() > kMostMoved) moved.resize(kMostMoved);
  return moved;
}

// Exact, so that no judge() is needed.
void decide_by_itself(GateRow& row, double least) {
  row.lower = row.upper = row.change;
  row.verdict = row.change > row.tolerance ? Verdict::regression : Verdict::pass;
  row.is_beyond_chance = row.change > least;
  row.p_family = row.is_beyond_chance ? 0 : 1;
}

GateRow bytes_row(const PairedCell& cell, const PairedMetric& metric) {
  GateRow row = row_of(cell, metric);
  row.baseline = mean(metric.baseline);
  row.candidate = mean(metric.candidate);
  row.tolerance = metric.rule->max_regression.share;
  // What was not sent before is all new, however little it is.
  row.change = row.baseline > 0 ? row.candidate / row.baseline - 1 : row.candidate > 0 ? 1 : 0;
  decide_by_itself(row, 0);
  row.moved = moved_operations(cell, metric.name, row.change);
  return row;
}

// A cell whose values were not compared in the candidate proves nothing, whatever its baseline label.
GateRow numerics_row(const PairedCell& cell, const PairedMetric& metric) {
  const std::string_view before = cell.baseline_label, now = cell.candidate_label;
  GateRow row = row_of(cell, metric);
  row.verdict = Verdict::pass;
  row.words = before == now ? std::string(now) : fmt::format("{} -> {}", before, now);
  if (!cell.is_label_worse) return row;
  row.verdict = now == "not_checked" ? Verdict::inconclusive : Verdict::regression;
  row.change = 1;
  return row;
}

GateRow missing_row(const PairedCell& cell, const PairedMetric& metric) {
  GateRow row = row_of(cell, metric);
  row.words = metric.missing;
  row.is_missing = true;
  if (!metric.baseline.empty()) row.baseline = mean(metric.baseline);
  return row;
}

GateCell reported(const PairedCell& cell) {
  const std::string &before = cell.baseline.front()->schedule, &now = cell.candidate.front()->schedule;
  return {.name = cell.name,
          .has_other_schedule = !before.empty() && !now.empty() && before != now,
          .moved = moved_operations(cell, "step", cell.candidate_step_ns - cell.baseline_step_ns)};
}

// The candidate reports it and the baseline does not: nothing can judge it.
bool is_new(const PairedMetric& metric) { return metric.baseline.empty() && metric.name != "numerics"; }

bool has_baseline(const PairedCell& cell) { return !cell.baseline.empty(); }

void add_rows(const PairedCell& cell, std::vector<JudgedRow>& with_spread, std::vector<GateRow>& rows) {
  std::vector<GateRow> missing;
  for (const PairedMetric& metric : cell.metrics) {
    if (metric.rule == nullptr || is_new(metric)) continue;
    if (!metric.missing.empty())
      missing.push_back(missing_row(cell, metric));
    else if (metric.name == "bytes")
      rows.push_back(bytes_row(cell, metric));
    else if (metric.name == "numerics")
      missing.push_back(numerics_row(cell, metric));
    else
      with_spread.push_back(with_figures(cell, metric));
  }
  std::ranges::move(missing, std::back_inserter(rows));
}

// A warning for each kind of missing metric, with the cells.
void warn_of_missing(const std::vector<PairedCell>& cells, GateReport& report) {
  using Names = std::vector<std::string>;
  std::map<std::pair<std::string, std::string>, std::pair<Names, Names>> kinds;
  for (const PairedCell& cell : cells)
    for (const PairedMetric& metric : cell.metrics) {
      const bool is_told_anew =
          metric.candidate.size() == cell.candidate.size() && !metric.name.starts_with("exposed.");
      const bool is_amiss = is_new(metric) ? has_baseline(cell) && is_told_anew : metric.rule != nullptr;
      if (metric.missing.empty() || !is_amiss) continue;
      auto& [metrics, names] = kinds[{metric.missing, how_to_tell(metric.name)}];
      if (std::ranges::find(metrics, metric.name) == metrics.end()) metrics.push_back(metric.name);
      if (std::ranges::find(names, cell.name) == names.end()) names.push_back(cell.name);
    }
  for (const auto& [kind, names] : kinds)
    report.warnings.push_back(fmt::format("not judged: {} of {}: {}; {}", fmt::join(names.first, ", "),
                                          short_list(names.second, kMostNamed), kind.first, kind.second));
}

// A faster step may expose more communication, for example because its compute got shorter. That growth is a warning.
// It fails the gate only where a rules file sets a tolerance for exposed time.
void excuse_growth_in_faster_steps(std::vector<JudgedRow>& rows, GateReport& report) {
  std::set<const PairedCell*> faster;
  for (const JudgedRow& judged : rows)
    if (is_step(&judged) && judged.row.upper && *judged.row.upper < 0) faster.insert(judged.cell);
  for (JudgedRow& judged : rows) {
    GateRow& row = judged.row;
    const bool is_excused =
        row.metric.starts_with("exposed") && faster.contains(judged.cell) && judged.rule->is_default;
    if (!is_excused || row.verdict == Verdict::pass) continue;
    if (row.verdict == Verdict::regression)
      report.warnings.push_back(
          fmt::format("{}: {}; not a regression, because the step is faster", row.cell, row_sentence(row)));
    row.verdict = Verdict::pass;
  }
}

// Empty where a run does not report it.
std::vector<double> exposed_shares(const PairedCell& cell) {
  const std::vector<double>&steps = cell.metrics[0].candidate, &exposed = cell.metrics[1].candidate;
  if (exposed.size() != steps.size()) return {};
  std::vector<double> shares;
  for (std::size_t i = 0; i < steps.size(); ++i) shares.push_back(steps[i] > 0 ? exposed[i] / steps[i] : 0);
  return shares;
}

}  // namespace

void judge_by_baseline(const std::vector<PairedCell>& cells, GateReport& report) {
  std::vector<JudgedRow> with_spread;
  for (const PairedCell& cell : cells) {
    if (!has_baseline(cell)) continue;
    add_rows(cell, with_spread, report.rows);
    report.cells.push_back(reported(cell));
  }
  judge_all(with_spread, report);
  for (JudgedRow& judged : with_spread)
    judged.row.moved = moved_operations(*judged.cell, judged.row.metric, judged.row.change);
  warn_of_missing(cells, report);
  excuse_growth_in_faster_steps(with_spread, report);
  for (JudgedRow& judged : with_spread) report.rows.push_back(std::move(judged.row));
  if (report.rows.empty()) throw std::invalid_argument("gate: the rules exclude every metric");
}

void judge_by_target(const std::vector<PairedCell>& cells, bool is_exact, GateReport& report) {
  const double target = *report.max_exposed;
  std::vector<const PairedCell*> in_order;
  for (const PairedCell& cell : cells) in_order.push_back(&cell);
  // The candidate's order: its first run holds these cells side by side.
  std::ranges::sort(in_order, {}, [](const PairedCell* cell) { return cell->candidate.front(); });
  std::vector<JudgedRow> judged;
  judged.reserve(cells.size());
  std::vector<JudgedRow*> with_spread;
  for (const PairedCell* cell : in_order) {
    GateRow& row = judged.emplace_back().row;
    row = {.cell = cell->name, .metric = std::string(kExposedShare), .tolerance = target};
    const std::vector<double> shares = exposed_shares(*cell);
    row.is_missing = shares.empty();
    if (row.is_missing) {
      row.words = "some runs do not report exposed time";
      continue;
    }
    row.candidate = row.change = mean(shares);
    if (is_exact || shares.size() == 1) {
      decide_by_itself(row, target);
      continue;
    }
    // A figure without a baseline is judged by its difference from 0, in pairs.
    judged.back().figures.baseline.assign(shares.size(), 0);
    for (const double share : shares) judged.back().figures.candidate.push_back(share - target);
    with_spread.push_back(&judged.back());
  }
  judge_family(with_spread, {.level = report.level, .paired = true});
  for (JudgedRow* each : with_spread) {
    each->row.change = each->row.candidate;
    each->row.lower = std::max(0.0, *each->row.lower + target);
    *each->row.upper += target;
    each->row.smallest_seen.reset();
  }
  for (JudgedRow& each : judged) report.rows.push_back(std::move(each.row));
}

}  // namespace underlap::gate
