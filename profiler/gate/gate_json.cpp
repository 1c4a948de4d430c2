// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "platform/json.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/gate/target.hpp"
#include "profiler/gate/words.hpp"

namespace underlap::gate {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const SideInfo& side) {
  return {{"runs", side.sources}, {"commits", side.commits}, {"command", side.command}};
}

const char* unit_of(const GateRow& row) {
  if (row.metric == "numerics") return "label";
  if (row.metric == "efficiency" || is_target(row)) return "one";
  return row.metric == "bytes" ? "bytes" : "ns";
}

const char* kind_of(const MovedOperation& operation) {
  if (operation.counted == Counted::copy) return "copy";
  return operation.counted == Counted::compute ? "compute" : "communication";
}

Json json_of(const std::vector<MovedOperation>& moved) {
  Json array = Json::array();
  for (const MovedOperation& operation : moved)
    array.push_back({{"name", operation.name},
                     {"kind", kind_of(operation)},
                     {"unit", operation.counted == Counted::bytes ? "bytes" : "ns"},
                     {"baseline", operation.baseline},
                     {"candidate", operation.candidate},
                     {"delta", operation.delta()}});
  return array;
}

Json json_of(const GateRow& row) {
  Json json{{"cell", row.cell}, {"metric", row.metric}, {"verdict", to_string(row.verdict)}, {"decides", row.decides}};
  json["unit"] = unit_of(row);
  if (row.is_missing) json["missing"] = row.words;
  if (row.metric == "numerics") {
    json["labels"] = row.is_missing ? Json(nullptr) : Json(row.words);
    return json;
  }
  json["baseline"] = is_target(row) ? Json(nullptr) : Json(row.baseline);
  json["candidate"] = row.is_missing ? Json(nullptr) : Json(row.candidate);
  json["change"] = row.is_missing ? Json(nullptr) : Json(row.change);
  json["lower"] = or_null(row.lower);
  json["upper"] = or_null(row.upper);
  json["tolerance"] = row.tolerance;
  json["p_family"] = row.p_family;
  json["beyond_chance"] = row.is_beyond_chance;
  json["smallest_seen"] = or_null(row.smallest_seen);
  json["runs_to_decide"] = or_null(row.runs_to_decide);
  json["moved"] = json_of(row.moved);
  return json;
}

Json json_of(const GateCell& cell) {
  Json moved = Json::array();
  for (const MovedOperation& operation : cell.moved)
    moved.push_back({{"name", operation.name},
                     {"kind", kind_of(operation)},
                     {"baseline_ns", operation.baseline},
                     {"candidate_ns", operation.candidate},
                     {"delta_ns", operation.delta()}});
  return {{"cell", cell.name}, {"other_schedule", cell.has_other_schedule}, {"moved", std::move(moved)}};
}

}  // namespace

std::string gate_json(const GateReport& report) {
  Json json{{"schema", "underlap.gate/1"}, {"verdict", to_string(report.verdict)}};
  json["sentence"] = verdict_sentence(report);
  json["baseline"] = json_of(report.baseline);
  json["candidate"] = json_of(report.candidate);
  json["forced"] = report.forced.empty() ? Json(nullptr) : Json(report.forced);
  json["warnings"] = report.warnings;
  json["differences"] = Json::array();
  for (const Difference& difference : report.differences)
    json["differences"].push_back({{"what", difference.what},
                                   {"baseline", difference.baseline},
                                   {"candidate", difference.candidate},
                                   {"derived", difference.is_derived}});
  json["paired"] = report.is_paired;
  json["exact"] = report.is_exact;
  json["level"] = report.level;
  json["run_sd"] = or_null(report.run_sd);
  json["max_exposed"] = or_null(report.max_exposed);
  json["rows"] = Json::array();
  for (const GateRow& row : report.rows) json["rows"].push_back(json_of(row));
  json["cells"] = Json::array();
  for (const GateCell& cell : report.cells) json["cells"].push_back(json_of(cell));
  return json_text(json, 1) + "\n";
}

}  // namespace underlap::gate
