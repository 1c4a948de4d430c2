// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/breakdown.hpp"
#include "viewer/charts/drawing/row_plot.hpp"
#include "viewer/charts/drawing/tick_labels.hpp"
#include "viewer/charts/words.hpp"

// Communication by mode: how much of it compute hides, and of what is exposed how much only waits. Cells with overlap
// stand below their cell without.
namespace underlap::viewer {
namespace {

using analysis::FigureTable;
using analysis::FigureUnit;
using report::CellSummary;
using report::PurposeSummary;
using OptionalFigure = std::optional<double>;

enum Name : std::size_t { kCell, kMode, kOffCell };
enum Column : std::size_t { kComm, kHidden, kExposed, kWait, kTransfer, kUnsplit };

FigureTable empty_table(const std::string& what) {
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
std::vector<OptionalFigure> figures_of(const PurposeSummary& of) {
  const bool is_split = of.exposed_unsplit_ms == 0 || of.exposed_unsplit_ms < of.exposed_ms;
  return {ns_of(of.comm_ms),
          ns_of(std::max(0.0, of.comm_ms - of.exposed_ms)),
          ns_of(of.exposed_ms),
          is_split ? ns_of(of.exposed_wait_ms) : std::nullopt,
          is_split ? ns_of(of.exposed_transfer_ms) : std::nullopt,
          ns_of(of.exposed_unsplit_ms)};
}

// Off cells in their order, each followed by those that are held against it.
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

// Groups of one rank have operations that take no time.
void add_rows_of_run(FigureTable& table, const std::vector<CellSummary>& summaries) {
  for (const CellSummary* summary : in_groups(summaries))
    for (const auto& [mode, of] : summary->modes)
      if (of.comm_ms > 0) table.rows.push_back({{summary->name, mode, summary->off_cell}, figures_of(of)});
}

double unsplit_of(const analysis::Summary& summary, const std::string& mode) {
  return analysis::typical(
      summary, analysis::part_of(&analysis::Split::modes, mode, &analysis::CommunicationSplit::exposed_unsplit_ns));
}

void add_rows_of_trace(FigureTable& table, const ChartInput& input) {
  const FigureTable by_mode = analysis::breakdown(*input.trace, *input.summary, analysis::Breakdown::mode);
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < by_mode.columns.size(); ++i) at[by_mode.columns[i].key] = i;
  for (const analysis::FigureRow& row : by_mode.rows) {
    const auto figure = [&](const char* key) { return row.figures[at.at(key)]; };
    const double comm = figure("comm").value_or(0), exposed = figure("exposed").value_or(0);
    if (comm <= 0) continue;
    table.rows.push_back({{"all ranks", row.names.front(), ""},
                          {comm, std::max(0.0, comm - exposed), exposed, figure("exposed_wait"),
                           figure("exposed_transfer"), unsplit_of(*input.summary, row.names.front())}});
  }
}

constexpr const char* kNote =
    "Per step, mean over the ranks. Each part is a median by itself, and modes may run at once, so that parts need not "
    "add up.";

ChartFigures figures(const ChartInput& input) {
  const bool is_run = input.run != nullptr;
  ChartFigures of =
      is_run ? headed("Communication by mode: hidden and exposed", how_made(input.run->info), run_text(input))
             : headed("Communication by mode: hidden and exposed", how_made(*input.trace), trace_text(input));
  of.note = kNote;
  of.table = empty_table(is_run ? "cell" : "ranks");
  if (is_run)
    add_rows_of_run(of.table, *input.summaries);
  else
    add_rows_of_trace(of.table, input);
  return of;
}

// Hidden first, pale; then what is exposed, its wait hatched. Bars of one look are of one mode.
void add_bars(std::vector<RowBars>& bars, const FigureTable& table, const std::string& mode, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  const QColor full = theme.exposed(std::string_view(mode)), stripe = mixed(theme.background, full, 0.75);
  RowBars hidden{{Mark::box, theme.hidden(std::string_view(mode)), {}, "hidden under compute"}, {}};
  RowBars wait{{Mark::hatched, full, stripe, "exposed, waiting"}, {}};
  RowBars transfer{{Mark::box, full, {}, "exposed, transferring"}, {}};
  RowBars unsplit{{Mark::dotted, full, stripe, "exposed, last arrival not known"}, {}};
  for (const analysis::FigureRow& row : table.rows) {
    const auto ms = [&](Column column) { return row.names[kMode] == mode ? row.figures[column].value_or(0) / 1e6 : 0; };
    const double start = ms(kHidden), end = start + ms(kExposed);
    const double waited = std::min(end, start + ms(kWait)), known = std::max(waited, end - ms(kUnsplit));
    hidden.spans.push_back({0, start});
    wait.spans.push_back({start, waited});
    transfer.spans.push_back({waited, known});
    unsplit.spans.push_back({known, end});
  }
  for (RowBars* part : {&hidden, &wait, &transfer, &unsplit}) bars.push_back(std::move(*part));
}

std::vector<RowBars> bars_of(const FigureTable& table, const Theme& theme) {
  std::vector<RowBars> bars;
  std::set<std::string> done;
  for (const analysis::FigureRow& row : table.rows)
    if (done.insert(row.names[kMode]).second) add_bars(bars, table, row.names[kMode], theme);
  return bars;
}

const std::string& group_of(const analysis::FigureRow& row) {
  return row.names[kOffCell].empty() ? row.names[kCell] : row.names[kOffCell];
}

std::vector<PlotRow> rows_of(const FigureTable& table) {
  std::vector<PlotRow> rows;
  const analysis::FigureRow* before = nullptr;
  for (const analysis::FigureRow& row : table.rows) {
    const bool is_same_cell = before != nullptr && before->names[kCell] == row.names[kCell];
    rows.push_back({.label = is_same_cell ? "" : QString::fromStdString(row.names[kCell]),
                    .sublabel = QString::fromStdString(row.names[kMode]),
                    .says = {number_text(row.figures[kHidden].value_or(0) / 1e6),
                             number_text(row.figures[kExposed].value_or(0) / 1e6)},
                    .begins_group = before != nullptr && group_of(*before) != group_of(row)});
    before = &row;
  }
  return rows;
}

QChart* draw_modes(const ChartFigures& of, const Theme& theme) {
  double longest = 0;
  for (const analysis::FigureRow& row : of.table.rows)
    longest = std::max(longest, (row.figures[kHidden].value_or(0) + row.figures[kExposed].value_or(0)) / 1e6);
  RowPlot plot{.rows = rows_of(of.table),
               .says_titles = {"hidden ms", "exposed ms"},
               .high = longest > 0 ? 1.02 * longest : 1,
               .axis_title = "ms of communication of a step",
               .when_empty = "no communication",
               .bars = bars_of(of.table, theme)};
  return draw_rows(of, theme, {}, std::move(plot));
}

}  // namespace

ChartKind modes_chart() {
  return {.name = "modes",
          .title = "Communication by mode",
          .description = "what compute hides of each mode's communication, and what is exposed; off against on",
          .needs = {ChartSource::run, ChartSource::trace},
          .figures = figures,
          .draw = draw_modes};
}

}  // namespace underlap::viewer
