// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <string>
#include <string_view>

#include "platform/fields/json_schema.hpp"
#include "profiler/gate/reports.hpp"

namespace underlap::gate {
namespace {

using Json = nlohmann::ordered_json;
using fields::Cursor, fields::Derived, fields::Is;
using fields::NewerField, fields::NullIf, fields::PresentIf;

constexpr std::string_view kFamily = "underlap.gate/";
constexpr std::string_view kGateSchema = "underlap.gate/1";

const char* unit_of(const GateRow& row) {
  if (row.metric == "numerics") return "label";
  if (row.metric == "efficiency" || is_target(row)) return "one";
  return row.metric == "bytes" ? "bytes" : "ns";
}

const char* kind_of(Counted counted) {
  if (counted == Counted::copy) return "copy";
  return counted == Counted::compute ? "compute" : "communication";
}

Counted counted_from(const std::string& kind, bool is_bytes) {
  if (is_bytes) return Counted::bytes;
  if (kind == "copy") return Counted::copy;
  return kind == "compute" ? Counted::compute : Counted::exposed;
}

}  // namespace

// The one list of the file's fields, which writer and reader follow.

/// Operations, each with its unit; or without one, all of them in nanoseconds, which the keys then name.
template <class Operations>
struct Moved {
  Operations& operations;
  bool has_units = true;

  std::string key(const std::string& of) const { return of + (has_units ? "" : "_ns"); }
};

template <class Operations>
Moved(Operations&) -> Moved<Operations>;
template <class Operations>
Moved(Operations&, bool) -> Moved<Operations>;

template <class T>
void add_field(Json& object, const char* key, const Moved<T>& moved) {
  object[key] = Json::array();
  for (const MovedOperation& operation : moved.operations) {
    Json json{{"name", operation.name}, {"kind", kind_of(operation.counted)}};
    if (moved.has_units) json["unit"] = operation.counted == Counted::bytes ? "bytes" : "ns";
    json[moved.key("baseline")] = operation.baseline;
    json[moved.key("candidate")] = operation.candidate;
    json[moved.key("delta")] = operation.delta();
    object[key].push_back(std::move(json));
  }
}

template <class T>
void decode_field(const Cursor& from, const char* key, Moved<T>& moved) {
  for (const Cursor& operation : from.at(key).elements()) {
    const bool is_bytes = moved.has_units && operation.at("unit").string() == "bytes";
    moved.operations.push_back({.name = operation.at("name").string(),
                                .counted = counted_from(operation.at("kind").string(), is_bytes),
                                .baseline = operation.at(moved.key("baseline")).number(),
                                .candidate = operation.at(moved.key("candidate")).number()});
  }
}

template <class T>
void describe_field(Json& object, const char* key, const Moved<T>& moved) {
  const Json text{{"type", "string"}}, number = fields::schema_of<double>();
  Json properties{{"name", text}, {"kind", text}};
  if (moved.has_units) properties["unit"] = text;
  for (const char* const of : {"baseline", "candidate", "delta"}) properties[moved.key(of)] = number;
  Json operation{{"type", "object"}, {"required", Json::array()}};
  for (const auto& [name, schema] : properties.items()) operation["required"].push_back(name);
  operation["properties"] = std::move(properties);
  object["properties"][key] = {{"type", "array"}, {"items", std::move(operation)}};
  object["required"].push_back(key);
}

void visit_fields(Is<SideInfo> auto& side, auto&& field) {
  field("runs", side.sources);
  field("commits", side.commits);
  field("command", side.command);
}

void visit_fields(Is<GateRow> auto& row, auto&& field) {
  field("cell", row.cell);
  field("metric", row.metric);
  field("verdict", row.verdict);
  field("decides", row.decides);
  field("unit", Derived{[&] { return unit_of(row); }});
  field("missing", PresentIf{row.words, row.is_missing});
  if (row.metric == "numerics") return field("labels", NullIf{row.words, row.is_missing});
  field("baseline", NullIf{row.baseline, is_target(row)});
  field("candidate", NullIf{row.candidate, row.is_missing});
  field("change", NullIf{row.change, row.is_missing});
  field("lower", row.lower);
  field("upper", row.upper);
  field("tolerance", row.tolerance);
  field("p_family", row.p_family);
  field("beyond_chance", row.is_beyond_chance);
  field("smallest_seen", row.smallest_seen);
  field("runs_to_decide", row.runs_to_decide);
  field("moved", Moved{row.moved});
}

void visit_fields(Is<GateCell> auto& cell, auto&& field) {
  field("cell", cell.name);
  field("other_schedule", cell.has_other_schedule);
  field("moved", Moved{cell.moved, false});
}

void visit_fields(Is<GateReport> auto& report, auto&& field) {
  field("verdict", report.verdict);
  field("sentence", Derived{[&] { return verdict_sentence(report); }});
  field("baseline", report.baseline);
  field("candidate", report.candidate);
  field("forced", NullIf{report.forced, report.forced.empty()});
  field("warnings", report.warnings);
  field("differences", report.differences);
  field("paired", report.is_paired);
  field("exact", report.is_exact);
  field("level", report.level);
  field("run_sd", report.run_sd);
  field("max_exposed", NewerField{report.max_exposed});
  field("rows", report.rows);
  field("cells", report.cells);
}

std::string gate_json(const GateReport& report) { return fields::document_text(kGateSchema, report); }

std::string gate_json_schema() {
  Json document = fields::document_schema<GateReport>(kGateSchema);
  // Rows of numerics have labels in place of figures.
  GateRow numerics;
  numerics.metric = "numerics";
  Json& rows = document["properties"]["rows"]["items"];
  rows = {{"anyOf", Json::array({rows, fields::schema_like(numerics)})}};
  return json_text(document, 1) + "\n";
}

bool is_gate_file(const std::filesystem::path& file) {
  std::string begin(64, '\0');
  std::ifstream(file).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find(kFamily) != std::string::npos;
}

GateReport read_gate(const std::filesystem::path& file) { return fields::read_document<GateReport>(kGateSchema, file); }

}  // namespace underlap::gate
