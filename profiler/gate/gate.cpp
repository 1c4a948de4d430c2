// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>

#include "profiler/analysis/not_comparable.hpp"
#include "profiler/gate/paired_cells.hpp"

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

// The earliest or latest of a time of the runs; empty if a run lacks it.
std::string time_of(const Runs& runs, std::string RunFigures::*time, bool is_latest) {
  const auto [earliest, latest] = std::ranges::minmax_element(runs, {}, time);
  if (((*earliest).*time).empty()) return "";
  return (*(is_latest ? latest : earliest)).*time;
}

bool are_of_two_machines(const RunFigures& baseline, const RunFigures& candidate) {
  const auto machine = baseline.environment.find("machine"), other = candidate.environment.find("machine");
  return machine != baseline.environment.end() && other != candidate.environment.end() &&
         machine->second != other->second;
}

std::string swapped_warning(const Runs& baseline, const Runs& candidate) {
  const auto warning = [](const char* what, const std::string& then, const std::string& now) {
    return fmt::format("the baseline {} {}, the candidate {}: are they swapped?", what, then, now);
  };
  const std::string of_baseline = time_of(baseline, &RunFigures::commit_utc, false);
  const std::string of_candidate = time_of(candidate, &RunFigures::commit_utc, true);
  if (!of_baseline.empty() && !of_candidate.empty())
    return of_baseline > of_candidate ? warning("has a commit from", of_baseline, of_candidate) : "";
  const std::string began = time_of(baseline, &RunFigures::started_utc, false);
  const std::string last = time_of(candidate, &RunFigures::started_utc, true);
  const bool is_newer = !began.empty() && !last.empty() && began > last;
  return is_newer && compare::commits_of(baseline) != compare::commits_of(candidate)
             ? warning("was measured at", began, last)
             : "";
}

std::vector<std::string> warnings_of(const Runs& baseline, const Runs& candidate) {
  std::vector<std::string> warnings = compare::unrecorded_facts(baseline, candidate);
  if (!baseline.front().is_exact && are_of_two_machines(baseline.front(), candidate.front()))
    warnings.emplace_back("the sides were measured on different machines: a change may be due to the machine");
  if (std::string swapped = swapped_warning(baseline, candidate); !swapped.empty()) warnings.push_back(swapped);
  for (const auto& [side, word] : {std::pair{&baseline, "baseline"}, std::pair{&candidate, "candidate"}}) {
    if (const auto commits = compare::commits_of(*side); commits.size() > 1)
      warnings.push_back(fmt::format("the {}'s runs are from several commits: {}", word, fmt::join(commits, ", ")));
    for (const RunFigures& run : *side)
      if (const std::string other = compare::first_difference(side->front().environment, run.environment);
          !other.empty()) {
        warnings.push_back(fmt::format("the {}'s runs differ in machine or versions ({} and {})", word,
                                       side->front().source, run.source));
        break;
      }
  }
  std::vector<std::string> added;
  for (const CellFigures& cell : candidate.front().cells)
    if (compare::find_cell(baseline.front(), cell.name) == nullptr) added.push_back(cell.name);
  if (!added.empty())
    warnings.push_back(fmt::format("not judged, since the baseline has no such cell: {}", fmt::join(added, ", ")));
  return warnings;
}

// Whether each run of a side has its counterpart in the same series.
bool are_paired(const Runs& baseline, const Runs& candidate) {
  if (baseline.size() != candidate.size()) return false;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const RunFigures &one = baseline[i], &other = candidate[i];
    if (one.series.empty() || one.series != other.series || one.series_run != other.series_run) return false;
    if (one.series_side != "baseline" || other.series_side != "candidate") return false;
  }
  return true;
}

// Why traces of virtual time cannot be compared with a run of it: they hold one rank for all identical ones, without
// their number. Empty if this does not apply.
std::string trace_against_run(const Runs& baseline, const Runs& candidate) {
  const auto is_trace = [](const RunFigures& run) { return run.started_utc.empty(); };
  const auto ranks = [](const RunFigures& run) {
    const auto found = run.cells.front().work.find("ranks");
    return found == run.cells.front().work.end() ? std::string() : found->second;
  };
  for (const RunFigures& one : baseline)
    for (const RunFigures& other : candidate) {
      if (!one.is_exact || !other.is_exact || is_trace(one) == is_trace(other)) continue;
      const RunFigures &trace = is_trace(one) ? one : other, &run = is_trace(one) ? other : one;
      if (ranks(trace) == ranks(run)) continue;
      return fmt::format(
          "{} is a simulated trace with {} rank{}, but {} is a run with {}: such a trace has one rank for all that do "
          "the same work; give run folders on both sides, or traces on both",
          trace.source, ranks(trace), ranks(trace) == "1" ? "" : "s", run.source, ranks(run));
    }
  return "";
}

SideInfo info_of(const Runs& runs) {
  SideInfo info{.sources = {}, .commits = compare::commits_of(runs), .command = runs.front().command};
  for (const RunFigures& run : runs) info.sources.push_back(run.source);
  return info;
}

bool are_exact(const Runs& runs) {
  return std::ranges::all_of(runs, [](const RunFigures& run) { return run.is_exact; });
}

// Figures that runs give are not put aside for one that a person gives.
void check_run_sd(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  if (!options.run_sd || are_exact(baseline) || baseline.size() + candidate.size() <= 2) return;
  throw std::invalid_argument(
      fmt::format("--run-sd: the spread is estimated from these runs ({} of the baseline, {} of the candidate)\n  omit "
                  "--run-sd; it is for one run per side",
                  baseline.size(), candidate.size()));
}

// Runs that a target alone judges are one side.
GateReport report_of_side(const Runs& runs, const GateOptions& options) {
  compare::check_sides(runs, runs);
  compare::refuse_same_run({}, runs);
  GateReport report{.candidate = info_of(runs), .forced = compare::not_comparable(runs, runs)};
  if (!report.forced.empty() && !options.is_forced)
    throw analysis::NotComparable(report.forced,
                                  "judge them one at a time, or use --force to treat them as equal runs");
  report.is_exact = are_exact(runs);
  return report;
}

GateReport report_of_two_sides(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  compare::check_sides(baseline, candidate);
  compare::refuse_same_run(baseline, candidate);
  compare::check_cells(baseline.front(), candidate.front(), "the baseline");
  check_run_sd(baseline, candidate, options);
  GateReport report{.baseline = info_of(baseline), .candidate = info_of(candidate)};
  report.forced = trace_against_run(baseline, candidate);
  if (report.forced.empty()) report.forced = compare::not_comparable(baseline, candidate);
  if (!report.forced.empty() && !options.is_forced)
    throw analysis::NotComparable(report.forced,
                                  "this is not a regression but a different run; use --force to compare anyway");
  report.warnings = warnings_of(baseline, candidate);
  report.differences = compare::differences_of(baseline, candidate);
  report.is_paired = are_paired(baseline, candidate);
  report.is_exact = are_exact(baseline) && are_exact(candidate);
  if (!report.is_exact) report.run_sd = options.run_sd;
  if (!report.is_exact && !report.run_sd && baseline.size() + candidate.size() <= 2)
    report.warnings.emplace_back(
        "one run per side does not show the run-to-run spread, so no time can be called a regression (measure "
        "several: `underlap run --runs 5`, or set the spread: --run-sd)");
  if (report.is_exact && options.run_sd)
    report.warnings.emplace_back("simulated time has no run-to-run spread: --run-sd is ignored");
  return report;
}

// The report before any row is judged: its sides, in what they differ, whether the runs took turns, and what a person
// should know before reading a number.
GateReport report_of_sides(const Runs& baseline, const Runs& candidate, const GateOptions& options) {
  GateReport report = baseline.empty() && options.max_exposed ? report_of_side(candidate, options)
                                                              : report_of_two_sides(baseline, candidate, options);
  report.level = options.level;
  report.max_exposed = options.max_exposed;
  return report;
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
