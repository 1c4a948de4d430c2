// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/report_tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <sstream>

#include "profiler/report/where_time_went.hpp"

namespace underlap::report {
namespace {

std::string number_text(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string value_text(const std::optional<Estimate>& estimate, int digits) {
  return number_text(estimate ? std::optional(estimate->value) : std::nullopt, digits);
}

Style style_of(const std::optional<Estimate>& ratio) {
  if (ratio && ratio->interval && ratio->interval->high < 1) return Style::good;
  if (ratio && ratio->interval && ratio->interval->low > 1) return Style::bad;
  return Style::plain;
}

TableCell ratio_cell(const std::optional<Estimate>& ratio) { return {estimate_text(ratio, 3), style_of(ratio)}; }

// What a cell's losses show, with how far they are from the reference's where they are at all.
TableCell numerics_cell(const CellResult& cell) {
  const Style style = cell.label == NumericsLabel::mismatch      ? Style::bad
                      : cell.label == NumericsLabel::not_checked ? Style::dim
                                                                 : Style::plain;
  return {numerics_text(cell.label, cell.max_loss_difference), style};
}

// "1.42 (1.07)": against the bound, and in parentheses against the bound and the CPU time of the transfers.
std::string bound_text(const CellSummary& summary) {
  if (!summary.step_ratio_to_bound) return "-";
  if (!summary.step_ratio_to_bound_and_cpu) return fmt::format("{:.2f}", *summary.step_ratio_to_bound);
  return fmt::format("{:.2f} ({:.2f})", *summary.step_ratio_to_bound, *summary.step_ratio_to_bound_and_cpu);
}

// Results of before there was an ideal bound have no figure to show in its column.
constexpr const char* kIdeal = "step/ideal";
constexpr const char* kInterval = "[95 %]";
constexpr const char* kEfficiency = "E";
constexpr const char* kEfficiencyInterval = "E [95 %]";
constexpr const char* kCpu = "CPU ms";
constexpr const char* kLoss = "loss";
constexpr const char* kNote = "note";
constexpr const char* kDependency = "dependency ms";
constexpr std::array<const char*, 3> kComputeParts{"contention", "+ decomposition", "- concurrency"};

std::string interval_text(const std::optional<Estimate>& estimate, int digits) {
  if (!estimate || !estimate->interval) return "-";
  return fmt::format("[{:.{}f}, {:.{}f}]", estimate->interval->low, digits, estimate->interval->high, digits);
}

// Megabytes with three digits that count or more, so that a tiny model's do not round to nothing.
std::string megabytes_text(const std::optional<double>& bytes) {
  if (!bytes) return "-";
  const double megabytes = *bytes / 1e6;
  if (megabytes > 0 && megabytes < 1) return fmt::format("{:.3g}", megabytes);
  return fmt::format("{:.{}f}", megabytes, megabytes >= 100 ? 0 : megabytes >= 10 ? 1 : 2);
}

// Decimals that give a column of times four significant digits.
int digits_of(const std::vector<CellSummary>& summaries) {
  double largest = 0;
  for (const CellSummary& summary : summaries)
    if (summary.step_ms) largest = std::max(largest, summary.step_ms->value);
  return largest >= 1000 ? 0 : largest >= 100 ? 1 : largest >= 10 ? 2 : 3;
}

// A row for each cell that was not run. The second column refers to the note with the reason.
void add_refused(Table& table, const RunResults& results, const CellNotes& notes) {
  for (const RefusedCell& cell : results.refused) {
    std::vector<TableCell>& row = table.rows.emplace_back(table.columns.size(), TableCell("-", Style::dim));
    row.front() = {cell.name};
    row[1] = {notes.of(cell.name)};
  }
}

// To the nanosecond, so that a row adds up.
std::string delta_ms(std::int64_t ns) {
  const std::int64_t magnitude = std::abs(ns);
  return fmt::format("{}{}.{:06}", ns < 0 ? '-' : '+', magnitude / 1'000'000, magnitude % 1'000'000);
}

}  // namespace

std::string estimate_text(const std::optional<Estimate>& estimate, int digits) {
  if (!estimate) return "-";
  if (!estimate->interval) return number_text(estimate->value, digits);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", estimate->value, digits, estimate->interval->low, digits,
                     estimate->interval->high, digits);
}

Table cell_table(const RunResults& results, const std::vector<CellSummary>& summaries) {
  const bool has_intervals =
      std::ranges::any_of(summaries, [](const CellSummary& s) { return s.step_ms && s.step_ms->interval; });
  Table table{{{"cell", Align::left},
               {kNote, Align::left},
               {has_intervals ? "step ms [95 %]" : "step ms"},
               {has_intervals ? "step/off [95 %]" : "step/off", Align::right, 1},
               {"exposed ms"},
               {"comm ms", Align::right, 2},
               {"overlap %"},
               {kEfficiency, Align::right, 3},
               {"wire MB", Align::right, 4},
               {kCpu, Align::right, 8},
               {"step/bound", Align::right, 6},
               {kIdeal, Align::right, 7},
               {"numerics", Align::left, 5},
               {"worst exposed ms", Align::right, 9},
               {kEfficiencyInterval, Align::right, 10},
               {kLoss, Align::right, 11}},
              {}};
  const int digits = digits_of(summaries);
  const CellNotes notes = notes_of(results);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const CellSummary& summary = summaries[i];
    table.rows.push_back({summary.name, notes.of(summary.name), estimate_text(summary.step_ms, digits),
                          ratio_cell(summary.step_ratio_to_off), value_text(summary.exposed_ms, digits),
                          value_text(summary.comm_ms, digits), number_text(summary.overlap_pct, 1),
                          value_text(summary.efficiency, 2), megabytes_text(summary.bytes_on_wire),
                          number_text(summary.transfer_cpu_ms, digits), bound_text(summary),
                          number_text(summary.step_ratio_to_bound_ideal, 2), numerics_cell(results.cells[i]),
                          value_text(summary.exposed_worst_ms, digits), interval_text(summary.efficiency, 2),
                          number_text(summary.final_loss, 4)});
  }
  add_refused(table, results, notes);
  for (const std::string_view title : {kEfficiency, kEfficiencyInterval, kIdeal, kCpu, kLoss, kNote})
    drop_if_empty(table, title);
  return table;
}

Table brief_table(const RunResults& results, const std::vector<CellSummary>& summaries) {
  Table table{{{"cell", Align::left},
               {kNote, Align::left},
               {"step ms"},
               {"step/off"},
               {kInterval, Align::right, 1},
               {"exposed ms"},
               {"overlap %"},
               {"comm ms", Align::right, 2},
               {"numerics", Align::left, 3}},
              {}};
  const int digits = digits_of(summaries);
  const CellNotes notes = notes_of(results);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const CellSummary& summary = summaries[i];
    table.rows.push_back({summary.name, notes.of(summary.name), value_text(summary.step_ms, digits),
                          TableCell(value_text(summary.step_ratio_to_off, 3), style_of(summary.step_ratio_to_off)),
                          interval_text(summary.step_ratio_to_off, 3), value_text(summary.exposed_ms, digits),
                          number_text(summary.overlap_pct, 1), value_text(summary.comm_ms, digits),
                          numerics_cell(results.cells[i])});
  }
  add_refused(table, results, notes);
  for (const char* title : {"step/off", kInterval, kNote}) drop_if_empty(table, title);
  return table;
}

namespace {

// Three significant digits, because one column holds the rates of tiny models and of clusters.
std::string three_digits(const std::optional<double>& value) {
  if (!value) return "-";
  return *value >= 100 || *value <= 0 ? fmt::format("{:.0f}", *value) : fmt::format("{:.3g}", *value);
}

bool has_gpus(const RunResults& results) { return !traits_of(results.info.backend).runs_on_cores; }

// What is predicted is the memory of a GPU.
std::string measured_or_predicted(const RunResults& results, const CellResult& cell) {
  constexpr double kBytesPerGb = 1e9;
  const std::int64_t bytes = has_gpus(results) ? cell.peak_memory_bytes : cell.tensor_bytes;
  return bytes == 0 ? "-" : three_digits(static_cast<double>(bytes) / kBytesPerGb);
}

}  // namespace

Table rate_table(const RunResults& results, const std::vector<CellSummary>& summaries) {
  constexpr double kPercent = 100;
  Table table{{{"cell", Align::left},
               {"tokens/s"},
               {has_gpus(results) ? "TFLOP/s a GPU" : "TFLOP/s a rank"},
               {"MFU %"},
               {"memory GB"}},
              {}};
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const CellSummary& summary = summaries[i];
    if (!summary.tokens_per_s) continue;
    table.rows.push_back({summary.name, three_digits(summary.tokens_per_s), three_digits(summary.tflops_per_gpu),
                          summary.mfu ? fmt::format("{:.1f}", kPercent * *summary.mfu) : "-",
                          measured_or_predicted(results, results.cells[i])});
  }
  return table;
}

std::string rates_about(const RunResults& results) {
  std::set<std::string> peaks;
  for (const CellResult& cell : results.cells)
    peaks.insert(cell.work.peak_tflops > 0
                     ? fmt::format("MFU relative to {:.0f} TFLOP/s ({})", cell.work.peak_tflops, cell.work.peak_of)
                     : fmt::format("no MFU: {}", cell.work.peak_of));
  return fmt::format("tokens/s of all ranks; FLOPs counted as {} ({}); {}; memory of the largest rank, {}",
                     results.info.flops, convention_words(results.info.flops), fmt::join(peaks, ", "),
                     has_gpus(results) ? "as predicted" : "allocated by its tensors");
}

namespace {

std::string value_on(const CellResult& cell, const std::string& axis) {
  for (const auto& [name, value] : cell.values)
    if (name == axis) return value;
  return "";
}

// What sets a pair along `axis` apart from the other pairs: the cell's name without that axis.
std::string name_without(const CellResult& cell, const std::string& axis) {
  const std::string value = value_on(cell, axis);
  std::istringstream words(cell.name);
  std::string rest;
  for (std::string word; words >> word;)
    if (word != axis + "=" + value && word != value) rest += (rest.empty() ? "" : " ") + word;
  return rest.empty() ? "all" : rest;
}

AxisTable empty_axis_table(const RunResults& results, const AxisPair& pair) {
  return {.axis = pair.axis,
          .title = fmt::format("Ratios along {}: step with {} / step with {}", pair.axis,
                               value_on(results.cells[pair.cell], pair.axis),
                               value_on(results.cells[pair.other], pair.axis)),
          .table = {{{"cell", Align::left},
                     {"step ratio [95 %]"},
                     {"half-width %"},
                     {"resolves 1 %", Align::left},
                     {"blocks for 1 %"}},
                    {}}};
}

}  // namespace

std::vector<AxisTable> axis_tables(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::vector<AxisTable> tables;
  for (const AxisPair& pair : pairs_along_axes(results.cells)) {
    const auto found = summaries[pair.cell].ratios_along.find(pair.axis);
    if (found == summaries[pair.cell].ratios_along.end()) continue;
    if (tables.empty() || tables.back().axis != pair.axis) tables.push_back(empty_axis_table(results, pair));
    const AxisRatio& ratio = found->second;
    const std::string half_width = ratio.half_width ? fmt::format("{:.2f}", 100 * *ratio.half_width) : "-";
    tables.back().table.rows.push_back({name_without(results.cells[pair.cell], pair.axis), ratio_cell(ratio.step_ratio),
                                        half_width, std::string(ratio.is_resolved ? "yes" : "no"),
                                        ratio.blocks_needed ? std::to_string(*ratio.blocks_needed) : "-"});
  }
  return tables;
}

namespace {

// "-" if no last arrival was known: 0 would claim that no rank waited.
std::string part_text(const PurposeSummary& figures, double part_ms) {
  const bool is_split = figures.exposed_unsplit_ms == 0 || figures.exposed_unsplit_ms < figures.exposed_ms;
  return is_split ? number_text(part_ms, 3) : "-";
}

// Only pipelines have it; for other modes a 0 would be misleading.
std::string dependency_text(const PurposeSummary& figures) {
  return figures.pipeline_dependency_ms > 0 ? part_text(figures, figures.pipeline_dependency_ms) : "-";
}

// The cells of a row of communication, after its name.
std::vector<TableCell> communication_cells(const PurposeSummary& figures) {
  return {fmt::format("{:g}", figures.count),
          megabytes_text(figures.bytes_on_wire),
          number_text(figures.comm_ms, 3),
          number_text(figures.exposed_ms, 3),
          part_text(figures, figures.exposed_wait_ms),
          dependency_text(figures),
          part_text(figures, figures.exposed_transfer_ms)};
}

Table communication_table(const std::vector<CellSummary>& summaries, const char* what,
                          std::map<std::string, PurposeSummary> CellSummary::*by) {
  Table table{{{"cell", Align::left},
               {what, Align::left},
               {"count", Align::right, 5},
               {"wire MB", Align::right, 4},
               {"comm ms"},
               {"exposed ms"},
               {"exposed wait ms", Align::right, 2},
               {kDependency, Align::right, 3},
               {"exposed transfer ms", Align::right, 1}},
              {}};
  for (const CellSummary& summary : summaries)
    for (const auto& [key, figures] : summary.*by) {
      std::vector<TableCell>& row = table.rows.emplace_back();
      row = {summary.name, key};
      std::ranges::move(communication_cells(figures), std::back_inserter(row));
    }
  drop_if_empty(table, kDependency);
  return table;
}

std::vector<TableCell> compute_cells(const std::optional<ComputeTimeChange>& compute) {
  if (!compute) return std::vector<TableCell>(kComputeParts.size(), TableCell("-"));
  return {delta_ms(compute->contention_ns), delta_ms(compute->decomposition_ns), delta_ms(compute->concurrency_ns)};
}

// "exposed ring_hop 12.000, longer fc1_dgrad 3.100"
std::string names_text(const std::vector<NamedTime>& names) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
    text += fmt::format("{}{} {:.3f}", i == 0 ? "" : ", ", names[i].name, static_cast<double>(names[i].ns) / 1e6);
  return text.empty() ? "-" : text;
}

}  // namespace

Table mode_table(const std::vector<CellSummary>& summaries) {
  return communication_table(summaries, "mode", &CellSummary::modes);
}

Table purpose_table(const std::vector<CellSummary>& summaries) {
  return communication_table(summaries, "purpose", &CellSummary::purposes);
}

Table time_change_table(const RunResults& results) {
  Table table{{{"from", Align::left, 3},
               {"to", Align::left},
               {"window ms"},
               {"= compute"},
               {"+ exposed"},
               {"+ copy only", Align::right, 2},
               {"+ idle"},
               {kComputeParts[0], Align::right, 1},
               {kComputeParts[1], Align::right, 1},
               {kComputeParts[2], Align::right, 1}},
              {}};
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const References references = find_references(results.cells, i);
    if (!references.off || references.off == i || results.cells[i].no_comm) continue;
    const auto change = where_time_went(results.cells[*references.off], results.cells[i]);
    if (!change) continue;
    table.rows.push_back({results.cells[*references.off].name, results.cells[i].name,
                          delta_ms(change->window_delta_ns()), delta_ms(change->compute_delta_ns()),
                          delta_ms(change->to.exposed_ns - change->from.exposed_ns),
                          delta_ms(change->to.copy_only_ns - change->from.copy_only_ns),
                          delta_ms(change->to.idle_ns - change->from.idle_ns)});
    std::ranges::move(compute_cells(change->compute), std::back_inserter(table.rows.back()));
  }
  for (const char* title : kComputeParts) drop_if_empty(table, title);
  return table;
}

Table excess_table(const RunResults& results) {
  constexpr int kWidestNames = 44;  // on more lines, they leave room for the parts that add up

  Table table{{{"cell", Align::left},
               {"excess ms"},
               {"= longer", Align::right, 3},
               {"- concurrent", Align::right, 2},
               {"+ exposed"},
               {"+ copy only", Align::right, 4},
               {"+ idle", Align::right, 1},
               {"- forced", Align::right, 1},
               {"largest parts, ms", Align::left, 0, kWidestNames}},
              {}};
  for (const CellResult& cell : results.cells)
    if (const auto excess = excess_over_bound(cell))
      table.rows.push_back({cell.name, delta_ms(excess->excess_ns()), delta_ms(excess->longer_ns()),
                            delta_ms(excess->concurrency_ns()), delta_ms(excess->parts.exposed_ns),
                            delta_ms(excess->parts.copy_only_ns), delta_ms(excess->parts.idle_ns),
                            delta_ms(excess->forced_ns()), names_text(excess->names)});
  return table;
}

}  // namespace underlap::report
