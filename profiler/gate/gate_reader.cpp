// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate_reader.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "platform/json.hpp"
#include "profiler/report/results_reader.hpp"

namespace underlap::gate {
namespace {

using Json = nlohmann::ordered_json;
using report::schema::Cursor;

constexpr std::string_view kFamily = "underlap.gate/";
constexpr std::string_view kGateSchema = "underlap.gate/1";

std::vector<std::string> strings(const Cursor& from) {
  std::vector<std::string> all;
  for (const Cursor& element : from.elements()) all.push_back(element.string());
  return all;
}

std::optional<double> number_or_none(const Cursor& from) {
  return from.is_null() ? std::nullopt : std::optional(from.number());
}

Verdict verdict_from(const Cursor& from) {
  const std::string word = from.string();
  for (const Verdict verdict : {Verdict::pass, Verdict::regression, Verdict::inconclusive})
    if (word == to_string(verdict)) return verdict;
  from.fail(fmt::format("is \"{}\", must be pass, regression or inconclusive", word));
}

SideInfo side_from(const Cursor& from) {
  return {strings(from.at("runs")), strings(from.at("commits")), from.at("command").string()};
}

Counted counted_from(const Cursor& kind, const std::string& unit) {
  const std::string word = kind.string();
  if (unit == "bytes") return Counted::bytes;
  if (word == "copy") return Counted::copy;
  return word == "compute" ? Counted::compute : Counted::exposed;
}

std::vector<MovedOperation> moved_of_row(const Cursor& from) {
  std::vector<MovedOperation> moved;
  for (const Cursor& operation : from.elements())
    moved.push_back({operation.at("name").string(), counted_from(operation.at("kind"), operation.at("unit").string()),
                     operation.at("baseline").number(), operation.at("candidate").number()});
  return moved;
}

std::vector<MovedOperation> moved_of_cell(const Cursor& from) {
  std::vector<MovedOperation> moved;
  for (const Cursor& operation : from.elements())
    moved.push_back({operation.at("name").string(), counted_from(operation.at("kind"), "ns"),
                     operation.at("baseline_ns").number(), operation.at("candidate_ns").number()});
  return moved;
}

void take_figures(const Cursor& from, GateRow& row) {
  row.baseline = number_or_none(from.at("baseline")).value_or(0);
  row.candidate = number_or_none(from.at("candidate")).value_or(0);
  row.change = number_or_none(from.at("change")).value_or(0);
  row.lower = number_or_none(from.at("lower"));
  row.upper = number_or_none(from.at("upper"));
  row.tolerance = from.at("tolerance").number();
  row.p_family = from.at("p_family").number();
  row.is_beyond_chance = from.at("beyond_chance").boolean();
  row.smallest_seen = number_or_none(from.at("smallest_seen"));
  if (!from.at("runs_to_decide").is_null()) row.runs_to_decide = from.at("runs_to_decide").integer32();
  row.moved = moved_of_row(from.at("moved"));
}

GateRow row_from(const Cursor& from) {
  GateRow row{.cell = from.at("cell").string(),
              .metric = from.at("metric").string(),
              .verdict = verdict_from(from.at("verdict")),
              .decides = from.at("decides").boolean()};
  row.is_missing = from.has("missing");
  if (row.is_missing) row.words = from.at("missing").string();
  if (row.metric != "numerics")
    take_figures(from, row);
  else if (!row.is_missing)
    row.words = from.at("labels").string();
  return row;
}

GateCell cell_from(const Cursor& from) {
  return {from.at("cell").string(), from.at("other_schedule").boolean(), moved_of_cell(from.at("moved"))};
}

void check_gate_schema(const Cursor& schema) {
  const std::string name = schema.string();
  if (name == kGateSchema) return;
  const bool is_other_version = name.starts_with(kFamily);
  schema.fail(fmt::format("is \"{}\", {} \"{}\"", name,
                          is_other_version ? "of another version of Underlap; this one reads" : "must be",
                          kGateSchema));
}

}  // namespace

bool is_gate_file(const std::filesystem::path& file) {
  std::string begin(64, '\0');
  std::ifstream(file).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find(kFamily) != std::string::npos;
}

GateReport read_gate(const std::filesystem::path& file) {
  const Json document = read_json_file(file);
  const Cursor root(document, file.string());
  check_gate_schema(root.at("schema"));
  GateReport report{.baseline = side_from(root.at("baseline")), .candidate = side_from(root.at("candidate"))};
  report.verdict = verdict_from(root.at("verdict"));
  if (!root.at("forced").is_null()) report.forced = root.at("forced").string();
  report.warnings = strings(root.at("warnings"));
  for (const Cursor& difference : root.at("differences").elements())
    report.differences.push_back({difference.at("what").string(), difference.at("baseline").string(),
                                  difference.at("candidate").string(),
                                  difference.has("derived") && difference.at("derived").boolean()});
  report.is_paired = root.at("paired").boolean();
  report.is_exact = root.at("exact").boolean();
  report.level = root.at("level").number();
  report.run_sd = number_or_none(root.at("run_sd"));
  if (root.has("max_exposed")) report.max_exposed = number_or_none(root.at("max_exposed"));
  for (const Cursor& row : root.at("rows").elements()) report.rows.push_back(row_from(row));
  for (const Cursor& cell : root.at("cells").elements()) report.cells.push_back(cell_from(cell));
  return report;
}

}  // namespace underlap::gate
