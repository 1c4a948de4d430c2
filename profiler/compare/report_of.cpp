// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace underlap::compare {
namespace {

void refuse_unless_forced(CompareReport& report, const Runs& from, const Runs& to, bool is_forced) {
  report.forced = not_comparable(from, to);
  if (!report.forced.empty() && !is_forced) throw analysis::NotComparable(report.forced);
  report.differences = differences_of(from, to);
  report.notes = unrecorded_facts(from, to);
}

std::optional<double> metric(const CellFigures& cell, const std::string& name) {
  const auto found = cell.metrics.find(name);
  return found == cell.metrics.end() ? std::nullopt : std::optional(found->second);
}

Comparison compare_steps(std::string name, const CellFigures& from, const CellFigures& to) {
  return {.name = std::move(name),
          .from_step_ns = from.metrics.at("step"),
          .to_step_ns = to.metrics.at("step"),
          .from_exposed_ns = metric(from, "exposed"),
          .to_exposed_ns = metric(to, "exposed")};
}

double exposed_ns(const analysis::Summary& summary) {
  return analysis::typical(summary, [](const analysis::Split& split) { return split.exposed_ns(); });
}

// Figures of the trace's steps, or without steps what else is known of it.
RunFigures facts_of_side(const NamedTrace& traced) {
  const auto& [trace, summary] = traced.side;
  if (summary.shows_steps()) return figures_of(trace, summary, "trace", traced.name);
  return facts_of(trace, traced.name);
}

const report::CellResult& cell_named(const ComparedRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.results.cells, name, &report::CellResult::name);
  if (found != run.results.cells.end()) return *found;
  std::vector<std::string> names;
  for (const report::CellResult& cell : run.results.cells) names.push_back(cell.name);
  throw std::invalid_argument(
      fmt::format("--cells: {} has no cell \"{}\"; it has: {}", run.figures.source, name, fmt::join(names, ", ")));
}

// By their traces where both have them, else by their steps alone.
Comparison compare_cells(const ComparedRun& from_run, const std::string& from_cell, const ComparedRun& to_run,
                         const std::string& to_cell, const ChangeOfCells& change_of) {
  const report::CellResult &from = cell_named(from_run, from_cell), &to = cell_named(to_run, to_cell);
  Comparison comparison = compare_steps(from_cell == to_cell ? from_cell : from_cell + " -> " + to_cell,
                                        *find_cell(from_run.figures, from_cell), *find_cell(to_run.figures, to_cell));
  comparison.change = change_of(from, to);
  return comparison;
}

void note_missing_traces(CompareReport& report) {
  const bool is_missing = std::ranges::any_of(report.comparisons, [](const auto& one) { return !one.change; });
  if (is_missing)
    report.notes.emplace_back(
        "cells without a trace on both sides: only median steps are compared; the rest needs run.trace and the "
        "folder's traces/");
}

// The same run's figures of one cell, named so that both sides have it.
RunFigures of_one_cell(const ComparedRun& run, const std::string& name) {
  RunFigures figures = run.figures;
  const CellFigures cell = *find_cell(figures, cell_named(run, name).name);
  figures.cells = {cell};
  figures.cells.front().name = "cell";
  return figures;
}

}  // namespace

CompareReport report_of_traces(const NamedTrace& from, const NamedTrace& to, bool is_forced) {
  CompareReport report{.from = from.name, .to = to.name};
  refuse_unless_forced(report, {facts_of_side(from)}, {facts_of_side(to)}, is_forced);
  const bool from_shows = from.side.summary.shows_steps(), to_shows = to.side.summary.shows_steps();
  if (from_shows != to_shows)
    throw std::invalid_argument(
        fmt::format("{}: no steps were found, but {} has steps\n  a step cannot be compared with a whole trace; see "
                    "`underlap analyze`",
                    from_shows ? to.name : from.name, from_shows ? from.name : to.name));
  if (!from_shows)
    report.notes.emplace_back(
        "no steps were found: each trace is compared as one step, from its first work to its last");
  report.comparisons.push_back({.name = "",
                                .from_step_ns = typical_step_ns(from.side.summary),
                                .to_step_ns = typical_step_ns(to.side.summary),
                                .from_exposed_ns = exposed_ns(from.side.summary),
                                .to_exposed_ns = exposed_ns(to.side.summary),
                                .change = compare_traces(from.side, to.side)});
  return report;
}

CompareReport report_of_runs(const ComparedRun& from, const ComparedRun& to, bool is_forced,
                             const ChangeOfCells& change_of) {
  check_sides({from.figures}, {to.figures});
  const std::string &from_name = from.figures.source, &to_name = to.figures.source;
  CompareReport report{.from = from_name, .to = to_name};
  refuse_unless_forced(report, {from.figures}, {to.figures}, is_forced);
  for (const report::CellResult& cell : from.results.cells) {
    if (find_cell(to.figures, cell.name) == nullptr)
      report.notes.push_back(fmt::format("cell {} is only in {}", cell.name, from_name));
    else
      report.comparisons.push_back(compare_cells(from, cell.name, to, cell.name, change_of));
  }
  for (const report::CellResult& cell : to.results.cells)
    if (find_cell(from.figures, cell.name) == nullptr)
      report.notes.push_back(fmt::format("cell {} is only in {}", cell.name, to_name));
  if (report.comparisons.empty())
    throw std::invalid_argument(fmt::format(
        "{} and {} have no cell in common\n  --cells FROM TO compares two cells of one run", from_name, to_name));
  note_missing_traces(report);
  return report;
}

CompareReport report_of_cells(const ComparedRun& run, const std::string& from, const std::string& to, bool is_forced,
                              const ChangeOfCells& change_of) {
  CompareReport report{.from = from, .to = to};
  refuse_unless_forced(report, {of_one_cell(run, from)}, {of_one_cell(run, to)}, is_forced);
  report.comparisons = {compare_cells(run, from, run, to, change_of)};
  note_missing_traces(report);
  return report;
}

}  // namespace underlap::compare
