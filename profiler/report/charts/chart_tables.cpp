// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/charts/chart_tables.hpp"

#include <fmt/format.h>

#include "profiler/analysis/breakdown.hpp"

namespace underlap::report {
namespace {

using analysis::FigureTable;
using OptionalFigure = std::optional<double>;

FigureTable empty_modes_table(const std::string& what) {
  return {{{what, what}, {"mode", "mode"}, {"off cell", "off_cell"}},
          {{"comm", "comm"},
           {"hidden", "hidden"},
           {"exposed", "exposed"},
           {"exp. wait", "exposed_wait"},
           {"exp. xfer", "exposed_transfer"},
           {"exp. not split", "exposed_unsplit"}},
          {}};
}

OptionalFigure ns_of(double ms) { return 1e6 * ms; }

// A wait of which nothing is known is none of 0.
std::vector<OptionalFigure> figures_of_mode(const PurposeSummary& of) {
  const bool is_split = of.exposed_unsplit_ms == 0 || of.exposed_unsplit_ms < of.exposed_ms;
  return {ns_of(of.comm_ms),
          ns_of(std::max(0.0, of.comm_ms - of.exposed_ms)),
          ns_of(of.exposed_ms),
          is_split ? ns_of(of.exposed_wait_ms) : std::nullopt,
          is_split ? ns_of(of.exposed_transfer_ms) : std::nullopt,
          ns_of(of.exposed_unsplit_ms)};
}

// Off cells in their order, each followed by the cells that are compared with it.
std::vector<const CellSummary*> in_groups(const std::vector<CellSummary>& summaries) {
  std::vector<const CellSummary*> ordered;
  for (const CellSummary& first : summaries) {
    if (!first.off_cell.empty() && first.off_cell != first.name) continue;
    ordered.push_back(&first);
    for (const CellSummary& other : summaries)
      if (&other != &first && other.off_cell == first.name) ordered.push_back(&other);
  }
  return ordered;
}

double unsplit_of(const analysis::Summary& summary, const std::string& mode) {
  return analysis::typical(
      summary, analysis::part_of(&analysis::Split::modes, mode, &analysis::CommunicationSplit::exposed_unsplit_ns));
}

FigureTable empty_steps_table(const std::string& of) {
  return {{{of, of}, {"block", "block"}, {"step", "step"}},
          {{"length", "length"}, {"median", "median"}, {"low", "median_low"}, {"high", "median_high"}},
          {}};
}

void add_cell(FigureTable& table, const CellResult& cell, const CellSummary& summary) {
  if (!summary.step_ms) return;
  const auto& interval = summary.step_ms->interval;
  const auto ns = [](double ms) { return std::optional(1e6 * ms); };
  for (const StepSample& sample : cell.samples)
    table.rows.push_back({{cell.name, std::to_string(sample.block), std::to_string(sample.step)},
                          {static_cast<double>(sample.step_ns), ns(summary.step_ms->value),
                           interval ? ns(interval->low) : std::nullopt, interval ? ns(interval->high) : std::nullopt}});
}

void add_rank(FigureTable& table, const analysis::RankSummary& rank, std::span<const analysis::Window> windows) {
  const double median = analysis::typical(rank, [](const analysis::Split& split) { return split.window_ns; });
  for (const analysis::Window& window : windows)
    if (window.rank == rank.rank)
      table.rows.push_back(
          {{fmt::format("rank {}", rank.rank), std::to_string(window.block), std::to_string(window.step)},
           {static_cast<double>(window.length_ns()), median, std::nullopt, std::nullopt}});
}

}  // namespace

// Groups of one rank have operations that take no time.
FigureTable modes_figures(const std::vector<CellSummary>& summaries) {
  FigureTable table = empty_modes_table("cell");
  for (const CellSummary* summary : in_groups(summaries))
    for (const auto& [mode, of] : summary->modes)
      if (of.comm_ms > 0) table.rows.push_back({{summary->name, mode, summary->off_cell}, figures_of_mode(of)});
  return table;
}

FigureTable modes_figures(const Trace& trace, const analysis::Summary& summary) {
  FigureTable table = empty_modes_table("ranks");
  const FigureTable by_mode = analysis::breakdown(trace, summary, analysis::Breakdown::mode);
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < by_mode.columns.size(); ++i) at[by_mode.columns[i].key] = i;
  for (const analysis::FigureRow& row : by_mode.rows) {
    const auto figure = [&](const char* key) { return row.figures[at.at(key)]; };
    const double comm = figure("comm").value_or(0), exposed = figure("exposed").value_or(0);
    if (comm <= 0) continue;
    table.rows.push_back({{"all ranks", row.names.front(), ""},
                          {comm, std::max(0.0, comm - exposed), exposed, figure("exposed_wait"),
                           figure("exposed_transfer"), unsplit_of(summary, row.names.front())}});
  }
  return table;
}

ModeBar mode_bar(const analysis::FigureRow& row) {
  const auto ms = [&](ModesTable::Column column) { return row.figures[column].value_or(0) / 1e6; };
  ModeBar bar;
  bar.hidden = ms(ModesTable::hidden);
  bar.exposed = bar.hidden + ms(ModesTable::exposed);
  bar.waited = std::min(bar.exposed, bar.hidden + ms(ModesTable::wait));
  bar.transferred = std::max(bar.waited, bar.exposed - ms(ModesTable::unsplit));
  return bar;
}

FigureTable steps_figures(const RunResults& results, const std::vector<CellSummary>& summaries) {
  FigureTable table = empty_steps_table("cell");
  for (std::size_t i = 0; i < results.cells.size(); ++i) add_cell(table, results.cells[i], summaries.at(i));
  return table;
}

FigureTable steps_figures(const analysis::Summary& summary) {
  FigureTable table = empty_steps_table("rank");
  if (!summary.shows_steps()) return table;
  const std::vector<analysis::Window> windows = summary.all_windows();
  for (const analysis::RankSummary& rank : summary.shown()) add_rank(table, rank, windows);
  return table;
}

}  // namespace underlap::report
