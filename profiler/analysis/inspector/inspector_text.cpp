// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "platform/fields/json_schema.hpp"
#include "platform/json.hpp"
#include "platform/memory_room.hpp"
#include "profiler/analysis/inspector/inspector_join.hpp"
#include "profiler/analysis/mode_name.hpp"

namespace underlap::analysis {
namespace {

using fields::Is;
using fields::Json;

double in_us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

void visit_fields(Is<InspectorRow> auto& row, auto&& field) {
  field("mode", mode_name(row.mode));
  field("purpose", name_of(row.purpose));
  field("count", row.count);
  field("bytes", row.median_bytes);
  field("bus_gb_per_s", row.median_bus_gb_per_s);
  field("comm_us", in_us(row.comm_ns));
  field("exposed_us", in_us(row.exposed_ns));
}

void visit_fields(Is<InspectorJoin> auto& join, auto&& field) {
  field("rows", join.rows);
  field("records", join.records);
  field("joined", join.joined);
  field("unjoined", join.unjoined);
}

std::string with_inspector(const std::string& analysis_json, const InspectorJoin& join) {
  Json json = parse_json(analysis_json);
  json["inspector"] = fields::encode(join);
  return json_text(json);
}

void add_inspector_schema(Json& analysis_schema) {
  analysis_schema["properties"]["inspector"] = fields::schema_of<InspectorJoin>();
}

TitledTable inspector_table(const InspectorJoin& join) {
  Table table{.columns = {{.title = "communication", .align = Align::left, .widest = 30},
                          {.title = "mode", .align = Align::left},
                          {.title = "count"},
                          {.title = "median size"},
                          {.title = "bus GB/s"},
                          {.title = "comm ms"},
                          {.title = "exposed ms"}},
              .rows = {}};
  for (const InspectorRow& row : join.rows)
    table.rows.push_back({row.purpose == kNoName ? "-" : std::string(name_of(row.purpose)), mode_name(row.mode),
                          fmt::format("{}", row.count), in_bytes(row.median_bytes),
                          fmt::format("{:.2f}", row.median_bus_gb_per_s),
                          fmt::format("{:.3f}", static_cast<double>(row.comm_ns) / 1e6),
                          fmt::format("{:.3f}", static_cast<double>(row.exposed_ns) / 1e6)});
  std::string line = fmt::format("{} of {} records joined", join.joined, join.records);
  for (const auto& [reason, count] : join.unjoined) line += fmt::format("; {} not joined: {}", count, reason);
  return {.title = "Bus bandwidth from the Inspector plugin, and exposure (sums over ranks and counted steps)",
          .table = std::move(table),
          .notes = {line + "."}};
}

}  // namespace underlap::analysis
