// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/charts/chart_tables.hpp"
#include "viewer/charts/drawing/painting.hpp"
#include "viewer/charts/drawing/row_plot.hpp"

// Communication by mode: how much of it compute hides, and how much of the exposed part is only waiting. Cells with
// overlap are below their cell without.
namespace underlap::viewer {
namespace {

using analysis::FigureTable;
using Of = report::ModesTable;

constexpr const char* kNote =
    "Per step, mean over ranks. Each part is a separate median, and modes may overlap, so parts need not add up.";

ChartFigures figures(const ChartInput& input) {
  const bool is_run = input.run != nullptr;
  ChartFigures of = headed("Communication by mode: hidden and exposed", input);
  of.note = kNote;
  of.table = is_run ? report::modes_figures(*input.summaries) : report::modes_figures(*input.trace, *input.summary);
  return of;
}

// Hidden first, pale; then what is exposed, its wait hatched. Bars of one look are of one mode.
void add_bars(std::vector<RowBars>& bars, const FigureTable& table, const std::string& mode, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  const QColor full = theme.exposed(std::string_view(mode)), stripe = mixed(theme.background, full, 0.75);
  RowBars hidden{{Mark::box, theme.hidden(std::string_view(mode)), "hidden under compute"}, {}};
  RowBars wait{{Mark::hatched, full, "exposed, waiting", stripe}, {}};
  RowBars transfer{{Mark::box, full, "exposed, transferring"}, {}};
  RowBars unsplit{{Mark::dotted, full, "exposed, last arrival unknown", stripe}, {}};
  for (const analysis::FigureRow& row : table.rows) {
    const report::ModeBar ends = row.names[Of::mode] == mode ? report::mode_bar(row) : report::ModeBar{};
    hidden.spans.push_back({0, ends.hidden});
    wait.spans.push_back({ends.hidden, ends.waited});
    transfer.spans.push_back({ends.waited, ends.transferred});
    unsplit.spans.push_back({ends.transferred, ends.exposed});
  }
  for (RowBars* part : {&hidden, &wait, &transfer, &unsplit}) bars.push_back(std::move(*part));
}

std::vector<RowBars> bars_of(const FigureTable& table, const Theme& theme) {
  std::vector<RowBars> bars;
  std::set<std::string> done;
  for (const analysis::FigureRow& row : table.rows)
    if (done.insert(row.names[Of::mode]).second) add_bars(bars, table, row.names[Of::mode], theme);
  return bars;
}

const std::string& group_of(const analysis::FigureRow& row) {
  return row.names[Of::off_cell].empty() ? row.names[Of::cell] : row.names[Of::off_cell];
}

std::vector<PlotRow> rows_of(const FigureTable& table) {
  std::vector<PlotRow> rows;
  const analysis::FigureRow* before = nullptr;
  for (const analysis::FigureRow& row : table.rows) {
    const bool is_same_cell = before != nullptr && before->names[Of::cell] == row.names[Of::cell];
    rows.push_back({.label = is_same_cell ? "" : QString::fromStdString(row.names[Of::cell]),
                    .sublabel = QString::fromStdString(row.names[Of::mode]),
                    .says = {number_text(row.figures[Of::hidden].value_or(0) / 1e6),
                             number_text(row.figures[Of::exposed].value_or(0) / 1e6)},
                    .begins_group = before != nullptr && group_of(*before) != group_of(row)});
    before = &row;
  }
  return rows;
}

QChart* draw_modes(const ChartFigures& of, const Theme& theme) {
  double longest = 0;
  for (const analysis::FigureRow& row : of.table.rows) longest = std::max(longest, report::mode_bar(row).exposed);
  RowPlot plot{.rows = rows_of(of.table),
               .says_titles = {"hidden ms", "exposed ms"},
               .high = longest > 0 ? 1.02 * longest : 1,
               .axis_title = "ms of communication per step",
               .when_empty = "no communication",
               .bars = bars_of(of.table, theme)};
  return draw_rows(of, theme, {}, std::move(plot));
}

}  // namespace

ChartKind modes_chart() {
  return {.name = "modes",
          .title = "Communication by mode",
          .needs = {ChartSource::run, ChartSource::trace},
          .figures = figures,
          .draw = draw_modes};
}

}  // namespace underlap::viewer
