// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "platform/fields/json_schema.hpp"

namespace underlap::attribution {
namespace {

using fields::Is, fields::Object;
using Json = fields::Json;

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }
double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string mode_text(Mode mode) { return mode == Mode::none ? "unattributed" : std::string(to_string(mode)); }

bool is_ours(const AttributionReport& report) {
  return report.not_taken.empty() && std::ranges::all_of(report.attributed, [](const AttributedBy& row) {
           return row.source == AttributionSource::tag;
         });
}

TitledTable sources_table(const AttributionReport& report) {
  Table table{.columns = {{.title = "mode", .align = Align::left},
                          {.title = "evidence", .align = Align::left},
                          {.title = "confidence %"},
                          {.title = "slices"},
                          {.title = "time ms"},
                          {.title = "reason", .align = Align::left, .widest = 60}},
              .rows = {}};
  for (const AttributedBy& row : report.attributed)
    table.rows.push_back({mode_text(row.mode), row.mode == Mode::none ? "-" : std::string(to_string(row.source)),
                          row.mode == Mode::none ? "-" : std::to_string(row.confidence_pct), std::to_string(row.count),
                          fmt::format("{:.3f}", ms(row.time_ns)), row.reason.empty() ? "-" : row.reason});
  return {.title = "How communication was attributed", .table = std::move(table)};
}

TitledTable not_taken_table(const AttributionReport& report) {
  Table table{.columns = {{.title = "kernel", .align = Align::left, .widest = 60},
                          {.title = "slices"},
                          {.title = "time ms"},
                          {.title = "why not", .align = Align::left, .widest = 50}},
              .rows = {}};
  for (const NotTaken& row : report.not_taken)
    table.rows.push_back({row.name, std::to_string(row.count), fmt::format("{:.3f}", ms(row.time_ns)), row.why});
  return {.title = "Looks like communication but counted as compute; --mode-map can reassign it",
          .table = std::move(table)};
}

}  // namespace

void visit_fields(Is<AttributedBy> auto& row, auto&& field) {
  field("mode", mode_text(row.mode));
  field("source", row.source);
  field("confidence_pct", row.confidence_pct);
  field("reason", row.reason);
  field("count", row.count);
  field("comm_us", us(row.time_ns));
}

void visit_fields(Is<NotTaken> auto& row, auto&& field) {
  field("kernel", row.name);
  field("why", row.why);
  field("count", row.count);
  field("time_us", us(row.time_ns));
}

void visit_fields(Is<AttributionReport> auto& report, auto&& field) {
  field("sources", report.attributed);
  field("unattributed", Object{[&](auto&& put) {
          put("count", report.unattributed());
          put("comm_us", us(report.unattributed_ns()));
        }});
  field("not_taken", report.not_taken);
}

std::string with_attribution(const std::string& analysis_json, const AttributionReport& report) {
  if (is_ours(report)) return analysis_json;
  Json json = parse_json(analysis_json);
  json["attribution"] = fields::encode(report);
  return json_text(json);
}

void add_attribution_schema(Json& analysis_schema) {
  analysis_schema["properties"]["attribution"] = fields::schema_of<AttributionReport>();
}

std::vector<std::string> unused_rules(const AttributionReport& report) {
  if (report.rules.empty()) return {};
  if (is_ours(report) && !report.attributed.empty())
    return {"the mode map was not applied: the trace records the mode of its communication"};
  std::vector<std::string> unused;
  for (const RuleUse& use : report.rules)
    if (use.count == 0 && use.time_ns == 0)
      unused.push_back(fmt::format("{} of the mode map matches no kernel", use.rule));
  return unused;
}

std::vector<TitledTable> attribution_tables(const AttributionReport& report) {
  if (is_ours(report)) return {};
  std::vector<TitledTable> tables;
  if (!report.attributed.empty()) tables.push_back(sources_table(report));
  if (!report.not_taken.empty()) tables.push_back(not_taken_table(report));
  return tables;
}

}  // namespace underlap::attribution
