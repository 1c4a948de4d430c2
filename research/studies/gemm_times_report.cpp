// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "platform/json.hpp"
#include "research/studies/gemm_times.hpp"
#include "research/studies/model_errors.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Depths {
  const char* name;
  std::int64_t from, to;  // K, `to` excluded
};
constexpr std::array<Depths, 5> kDepths{{
    {"K below 1024", 0, 1024},
    {"1024 to 2047", 1024, 2048},
    {"2048 to 4095", 2048, 4096},
    {"4096 to 8191", 4096, 8192},
    {"8192 and above", 8192, std::numeric_limits<std::int64_t>::max()},
}};

std::vector<const GemmTable*> tables_of(const std::vector<GemmRow>& rows) {
  std::vector<const GemmTable*> tables;
  for (const GemmRow& row : rows)
    if (tables.empty() || tables.back() != row.table) tables.push_back(row.table);
  return tables;
}

constexpr double kLongUs = 30;

template <class Counts>
Errors errors_where(const std::vector<GemmRow>& rows, const GemmTable* table, const Counts& counts) {
  std::vector<double> errors;
  for (const GemmRow& row : rows)
    if (row.table == table && counts(row.point)) errors.push_back(row.error());
  return errors_of(std::move(errors));
}

Errors errors_of_table(const std::vector<GemmRow>& rows, const GemmTable* table) {
  return errors_where(rows, table, [](const GemmPoint&) { return true; });
}

Errors errors_of_long(const std::vector<GemmRow>& rows, const GemmTable* table) {
  return errors_where(rows, table, [](const GemmPoint& point) { return point.time_us() >= kLongUs; });
}

std::string median(const Errors& errors) { return errors.points == 0 ? "-" : signed_percent(errors.median); }

std::vector<GemmRow> rows_of(const std::vector<GemmRow>& rows, GemmUse use) {
  std::vector<GemmRow> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out),
               [use](const GemmRow& row) { return row.table->use == use; });
  return out;
}

std::string in_words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// A table's name, what it was measured on and how.
std::vector<TableCell> conditions(const GemmTable& table) {
  return {table.name, table.hardware, std::string(kDtypeNames[table.dtype]), in_words(kOperandNames[table.operands]),
          in_words(kTimingNames[table.timing])};
}

std::string sources(const std::vector<GemmRow>& rows) {
  std::string text;
  for (const GemmTable* table : tables_of(rows)) text += fmt::format("- {}: {}\n", table->name, table->source);
  return text;
}

std::string section(const std::vector<GemmRow>& rows) {
  return fmt::format("{}\nMedian error by K:\n\n{}\n{}\n", markdown(gemm_errors_table(rows)),
                     markdown(gemm_depths_table(rows)), sources(rows));
}

}  // namespace

Table gemm_times_table(const std::vector<GemmRow>& rows) {
  Table table{{{"table", Align::left},
               {"hardware", Align::left, 1},
               {"M"},
               {"N"},
               {"K"},
               {"TF/s, published"},
               {"TF/s, modelled"},
               {"error"},
               {"use", Align::left}},
              {}};
  for (const GemmRow& row : rows)
    table.rows.push_back({row.table->name, row.table->hardware, std::to_string(row.point.m),
                          std::to_string(row.point.n), std::to_string(row.point.k),
                          fmt::format("{:.1f}", row.point.tflops), fmt::format("{:.1f}", row.model_tflops()),
                          signed_percent(row.error()), in_words(kUseNames[row.table->use])});
  return table;
}

Table gemm_errors_table(const std::vector<GemmRow>& rows) {
  Table table{{{"table", Align::left},
               {"hardware", Align::left},
               {"dtype", Align::left},
               {"operands", Align::left},
               {"timing", Align::left},
               {"shapes"},
               {"median error"},
               {"mean absolute"},
               {"largest"},
               {fmt::format("from {} us", kLongUs)},
               {"their median"}},
              {}};
  for (const GemmTable* source : tables_of(rows)) {
    const Errors errors = errors_of_table(rows, source), of_long = errors_of_long(rows, source);
    std::vector<TableCell> cells = conditions(*source);
    for (const std::string& cell :
         {std::to_string(errors.points), signed_percent(errors.median), percent(errors.mean_absolute),
          signed_percent(errors.largest), std::to_string(of_long.points), median(of_long)})
      cells.emplace_back(cell);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table gemm_depths_table(const std::vector<GemmRow>& rows) {
  Table table{{{"table", Align::left}}, {}};
  for (const Depths& depths : kDepths) table.columns.push_back({depths.name});
  for (const GemmTable* source : tables_of(rows)) {
    std::vector<TableCell> cells{TableCell(source->name)};
    for (const Depths& depths : kDepths) {
      const auto is_there = [&](const GemmPoint& point) { return point.k >= depths.from && point.k < depths.to; };
      cells.emplace_back(median(errors_where(rows, source, is_there)));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string gemm_times_json(const std::vector<GemmRow>& rows) {
  Json document{{"schema", "underlap.gemm_times/1"}, {"tables", Json::array()}, {"rows", Json::array()}};
  for (const GemmTable* table : tables_of(rows)) {
    const Errors errors = errors_of_table(rows, table), of_long = errors_of_long(rows, table);
    document["tables"].push_back({{"name", table->name},
                                  {"hardware", table->hardware},
                                  {"dtype", kDtypeNames[table->dtype]},
                                  {"operands", kOperandNames[table->operands]},
                                  {"timing", kTimingNames[table->timing]},
                                  {"use", kUseNames[table->use]},
                                  {"source", table->source},
                                  {"shapes", errors.points},
                                  {"median_error", errors.median},
                                  {"mean_absolute_error", errors.mean_absolute},
                                  {"largest_error", errors.largest},
                                  {"long_shapes", of_long.points},
                                  {"long_median_error", of_long.points == 0 ? Json() : Json(of_long.median)}});
  }
  for (const GemmRow& row : rows)
    document["rows"].push_back({{"table", row.table->name},
                                {"m", row.point.m},
                                {"n", row.point.n},
                                {"k", row.point.k},
                                {"published_tflops", row.point.tflops},
                                {"model_tflops", row.model_tflops()},
                                {"model_us", row.model_us},
                                {"error", row.error()}});
  return json_text(document, 1) + "\n";
}

std::string gemm_times_markdown(const std::vector<GemmRow>& rows) {
  const std::vector<GemmRow> held_against = rows_of(rows, GemmUse::held_against);
  return fmt::format(
      "# GEMM times compared with published rates\n\nEvery point of results/gemms/tables.yaml, compared with its "
      "simulated time. Underlap measured nothing here.\n\n{} of the {} points are from tables that were not used for a "
      "curve of results/hardware. These count, and come first. Errors are those of the time: below 0 the model is "
      "faster than published.\n\nA GPU at its power limit lowers its clock; operands of low entropy keep it higher. "
      "`sustained` was timed after the clock had settled; `short` was timed before, or the source does not state it. "
      "In training a GPU works for hours, but not only on GEMMs, so its rates lie between the two. Kernel start and "
      "end matter most in products of a few microseconds, so products published to take {} us and more are listed "
      "separately.\n\n## Tables not used for a curve\n\n{}## Tables used for a curve\n\nTheir errors show how well one "
      "curve over K fits its own points.\n\n{}## All points\n\n{}",
      held_against.size(), rows.size(), kLongUs, section(held_against), section(rows_of(rows, GemmUse::made_from)),
      markdown(gemm_times_table(rows)));
}

}  // namespace underlap::bench
