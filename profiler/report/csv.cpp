// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/csv.hpp"

#include <fmt/format.h>

#include "platform/text/escape.hpp"
#include "profiler/report/cell_summary.hpp"

namespace underlap::report {
namespace {

void put_run(Sheet& sheet, const RunResults& results) {
  sheet.put("backend", std::string(to_string(results.info.backend)));
  sheet.put("times_are", std::string(traits_of(results.info.backend).measures_time ? "measured" : "modelled"));
  sheet.put("flops_counted_as", results.info.flops);
  sheet.put("blocks_done", std::int64_t{results.blocks_done});
  sheet.put("blocks_planned", std::int64_t{results.blocks_planned});
}

void put_summary(Sheet& sheet, const CellSummary& summary) {
  sheet.put("off_cell", summary.off_cell);
  sheet.put("no_comm_cell", summary.no_comm_cell);
  sheet.put("steps", std::int64_t{summary.steps});
  sheet.put("step_ms", summary.step_ms);
  sheet.put("step_to_off_ratio", summary.step_ratio_to_off);
  sheet.put("comm_ms", summary.comm_ms);
  sheet.put("exposed_ms", summary.exposed_ms);
  sheet.put("exposed_worst_rank_ms", summary.exposed_worst_ms);
  sheet.put("overlap_percent", summary.overlap_pct);
  sheet.put("efficiency_ratio", summary.efficiency);
  sheet.put("wire_per_rank_bytes", summary.bytes_on_wire);
  sheet.put("transfer_cpu_ms", summary.transfer_cpu_ms);
  sheet.put("step_to_bound_ratio", summary.step_ratio_to_bound);
  sheet.put("step_to_bound_and_cpu_ratio", summary.step_ratio_to_bound_and_cpu);
  sheet.put("step_to_ideal_bound_ratio", summary.step_ratio_to_bound_ideal);
  sheet.put("final_loss_nats", summary.final_loss);
  sheet.put("tokens_per_s", summary.tokens_per_s);
  sheet.put("tflops_per_gpu", summary.tflops_per_gpu);
  sheet.put("mfu_ratio", summary.mfu);
}

std::optional<double> milliseconds(const std::optional<std::int64_t>& ns) {
  return ns ? std::optional(static_cast<double>(*ns) / 1e6) : std::nullopt;
}

void put_cell(Sheet& sheet, const CellResult& cell) {
  sheet.put("bound_ms", milliseconds(cell.bound_ns));
  sheet.put("ideal_bound_ms", milliseconds(cell.bound_ideal_ns));
  sheet.put("numerics", std::string(to_string(cell.label)));
  sheet.put("max_loss_difference_ratio", std::optional(cell.max_loss_difference));
  sheet.put("ranks", std::int64_t{cell.num_ranks});
  sheet.put("ranks_played", std::int64_t{cell.num_ranks_played});
  sheet.put("peak_memory_bytes", cell.peak_memory_bytes);
  sheet.put("tensor_bytes", cell.tensor_bytes);
  sheet.put("device_memory_bytes", cell.device_memory_bytes);
  sheet.put("not_as_requested", fmt::format("{}", fmt::join(cell.not_as_requested, "; ")));
  sheet.put("not_valid_because", fmt::format("{}", fmt::join(cell.invalid_because, "; ")));
}

void put_communication(Sheet& sheet, const std::string& name, const PurposeSummary& figures) {
  sheet.put(name + ".count", std::optional(figures.count));
  sheet.put(name + ".wire_per_rank_bytes", std::optional(figures.bytes_on_wire));
  sheet.put(name + ".comm_ms", std::optional(figures.comm_ms));
  sheet.put(name + ".exposed_ms", std::optional(figures.exposed_ms));
  sheet.put(name + ".exposed_wait_ms", std::optional(figures.exposed_wait_ms));
  sheet.put(name + ".exposed_transfer_ms", std::optional(figures.exposed_transfer_ms));
  sheet.put(name + ".exposed_unsplit_ms", std::optional(figures.exposed_unsplit_ms));
  sheet.put(name + ".pipeline_dependency_ms", std::optional(figures.pipeline_dependency_ms));
}

std::string line(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) out += (&field == &fields.front() ? "" : ",") + csv_field(field);
  return out + "\n";
}

}  // namespace

std::string report_csv(const RunResults& results) {
  Sheet sheet;
  const std::vector<CellSummary> summaries = summarize(results);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    sheet.begin_row();
    sheet.put("cell", summaries[i].name);
    put_run(sheet, results);
    put_summary(sheet, summaries[i]);
    put_cell(sheet, results.cells[i]);
    for (const auto& [axis, value] : results.cells[i].values) sheet.put("axis." + axis, value);
    for (const auto& [mode, figures] : summaries[i].modes) put_communication(sheet, "mode." + mode, figures);
    for (const auto& [purpose, figures] : summaries[i].purposes)
      put_communication(sheet, "purpose." + purpose, figures);
  }
  for (const RefusedCell& cell : results.refused) {
    sheet.begin_row();
    sheet.put("cell", cell.name);
    put_run(sheet, results);
    sheet.put("not_run_because", fmt::format("{}", fmt::join(cell.because, "; ")));
    for (const auto& [axis, value] : cell.values) sheet.put("axis." + axis, value);
  }
  return sheet.text();
}

void Sheet::put(const std::string& column, std::string text) {
  if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(column);
  rows_.back()[column] = std::move(text);
}

void Sheet::put(const std::string& column, const std::optional<double>& value) {
  put(column, value ? fmt::format("{}", *value) : std::string());
}

void Sheet::put(const std::string& column, const std::optional<Estimate>& estimate) {
  const auto interval = estimate ? estimate->interval : std::nullopt;
  put(column, estimate ? std::optional(estimate->value) : std::nullopt);
  put(column + "_low", interval ? std::optional(interval->low) : std::nullopt);
  put(column + "_high", interval ? std::optional(interval->high) : std::nullopt);
}

std::string Sheet::text() const {
  std::string out = line(columns_);
  for (const auto& row : rows_) {
    std::vector<std::string> fields;
    for (const std::string& column : columns_) fields.push_back(row.contains(column) ? row.at(column) : std::string());
    out += line(fields);
  }
  return out;
}

}  // namespace underlap::report
