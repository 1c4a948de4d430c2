// SPDX-License-Identifier: Apache-2.0
#include "bench/report_tables.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace underlap::bench {
namespace {

std::string number_text(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string value_text(const std::optional<Estimate>& estimate, int digits) {
  return number_text(estimate ? std::optional(estimate->value) : std::nullopt, digits);
}

TableCell ratio_cell(const std::optional<Estimate>& ratio) {
  Style style = Style::plain;
  if (ratio && ratio->interval && ratio->interval->high < 1) style = Style::good;
  if (ratio && ratio->interval && ratio->interval->low > 1) style = Style::bad;
  return {estimate_text(ratio, 3), style};
}

TableCell label_cell(const CellResult& cell) {
  const Style style = cell.label == NumericsLabel::mismatch      ? Style::bad
                      : cell.label == NumericsLabel::not_checked ? Style::dim
                                                                 : Style::plain;
  return {std::string(to_string(cell.label)), style};
}

std::string loss_difference_text(const CellResult& cell) {
  const bool compared = cell.label != NumericsLabel::reference && cell.label != NumericsLabel::not_checked;
  return compared ? fmt::format("{:.1e}", cell.max_loss_difference) : "-";
}

std::string delta_us(std::int64_t ns) {
  const std::int64_t magnitude = std::abs(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? '-' : '+', magnitude / 1000, magnitude % 1000);
}

}  // namespace

std::string estimate_text(const std::optional<Estimate>& estimate, int digits) {
  if (!estimate) return "-";
  if (!estimate->interval) return fmt::format("{:.{}f} [-]", estimate->value, digits);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", estimate->value, digits, estimate->interval->low, digits,
                     estimate->interval->high, digits);
}

std::string bytes_text(double bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

Table cell_table(const RunResults& results, const std::vector<CellSummary>& summaries) {
  Table table{{{"cell", Align::left},
               {"step ms [95 %]"},
               {"step / off [95 %]", Align::right, 1},
               {"exposed ms"},
               {"worst rank", Align::right, 7},
               {"comm ms", Align::right, 3},
               {"overlap %"},
               {"E", Align::right, 2},
               {"wire / rank", Align::right, 5},
               {"transfer CPU ms", Align::right, 6},
               {"step / bound", Align::right, 4},
               {"loss", Align::right, 5},
               {"loss diff", Align::right, 8},
               {"numerics", Align::left, 2}},
              {}};
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const CellSummary& summary = summaries[i];
    const CellResult& cell = results.cells[i];
    table.rows.push_back({cell.paced ? cell.name + " (paced)" : cell.name, estimate_text(summary.step_ms, 2),
                          ratio_cell(summary.step_ratio_to_off), value_text(summary.exposed_ms, 2),
                          value_text(summary.exposed_worst_ms, 2), value_text(summary.comm_ms, 2),
                          number_text(summary.overlap_pct, 1), number_text(summary.efficiency, 2),
                          summary.bytes_on_wire ? bytes_text(*summary.bytes_on_wire) : "-",
                          number_text(summary.transfer_cpu_ms, 2), number_text(summary.step_ratio_to_bound, 2),
                          number_text(summary.final_loss, 4), loss_difference_text(cell), label_cell(cell)});
  }
  return table;
}

Table purpose_table(const std::vector<CellSummary>& summaries) {
  Table table{{{"cell", Align::left},
               {"purpose", Align::left},
               {"count"},
               {"wire / rank"},
               {"comm ms"},
               {"exposed ms"},
               {"exposed wait ms"},
               {"exposed transfer ms"}},
              {}};
  for (const CellSummary& summary : summaries)
    for (const auto& [purpose, figures] : summary.purposes)
      table.rows.push_back({summary.name, purpose, fmt::format("{:g}", figures.count),
                            bytes_text(figures.bytes_on_wire), number_text(figures.comm_ms, 3),
                            number_text(figures.exposed_ms, 3), number_text(figures.exposed_wait_ms, 3),
                            number_text(figures.exposed_transfer_ms, 3)});
  return table;
}

Table win_table(const RunResults& results) {
  Table table{{{"from", Align::left},
               {"to", Align::left},
               {"window us"},
               {"= compute"},
               {"+ exposed"},
               {"+ copy only"},
               {"+ idle"}},
              {}};
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const References references = find_references(results.cells, i);
    if (!references.off || references.off == i || results.cells[i].no_comm) continue;
    const auto win = where_a_win_went(results.cells[*references.off], results.cells[i]);
    if (!win) continue;
    table.rows.push_back(
        {results.cells[*references.off].name, results.cells[i].name, delta_us(win->window_delta_ns()),
         delta_us(win->to.compute_ns - win->from.compute_ns), delta_us(win->to.exposed_ns - win->from.exposed_ns),
         delta_us(win->to.copy_only_ns - win->from.copy_only_ns), delta_us(win->to.idle_ns - win->from.idle_ns)});
  }
  return table;
}

}  // namespace underlap::bench
