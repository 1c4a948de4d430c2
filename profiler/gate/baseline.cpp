// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/baseline.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "platform/json.hpp"
#include "profiler/compare/sides.hpp"
#include "profiler/report/results_reader.hpp"

namespace underlap::gate {
namespace {

using Json = nlohmann::ordered_json;
using report::schema::Cursor;

constexpr const char* kDerivedKnobs = "derived_knobs";  // baselines before it lack it
constexpr std::string_view kSchema = "underlap.baseline/1";

// The one list of the file's fields, which writer and reader follow.
template <class Field>
void visit(auto& operation, Field&& field) requires requires {
  operation.busy_ns;
}
{
  field("name", operation.name);
  field("is_communication", operation.is_communication);
  field("busy_ns", operation.busy_ns);
  field("exposed_ns", operation.exposed_ns);
  field("count", operation.count);
  field("bytes", operation.bytes);
}

template <class Field>
void visit(auto& cell, Field&& field) requires requires {
  cell.metrics;
}
{
  field("name", cell.name);
  field("metrics", cell.metrics);
  field("numerics", cell.numerics);
  field("max_loss_difference", cell.max_loss_difference);
  field("schedule", cell.schedule);
  field("operations", cell.operations);
  field("work", cell.work);
  field("knobs", cell.knobs);
  field(kDerivedKnobs, cell.derived_knobs);
}

template <class Field>
void visit(auto& run, Field&& field) requires requires {
  run.cells;
}
{
  field("source", run.source);
  field("is_exact", run.is_exact);
  field("command", run.command);
  field("commit", run.commit);
  field("commit_utc", run.commit_utc);
  field("started_utc", run.started_utc);
  field("series", run.series);
  field("series_run", run.series_run);
  field("series_side", run.series_side);
  field("kind", run.kind);
  field("environment", run.environment);
  field("cells", run.cells);
}

template <class T>
Json encode(const std::vector<T>& values);

template <class T>
Json encode(const T& value) {
  if constexpr (requires { visit(value, [](const char*, const auto&) {}); }) {
    Json object = Json::object();
    visit(value, [&](const char* key, const auto& member) { object[key] = encode(member); });
    return object;
  } else {
    return value;
  }
}

template <class T>
Json encode(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(encode(value));
  return array;
}

void decode(const Cursor& from, bool& value) { value = from.boolean(); }
void decode(const Cursor& from, std::string& value) { value = from.string(); }
void decode(const Cursor& from, std::int32_t& value) { value = from.integer32(); }
void decode(const Cursor& from, double& value) {
  value = from.number();
  if (!std::isfinite(value)) from.fail("is no number");
}

template <class T>
void decode(const Cursor& from, std::map<std::string, T>& values) {
  for (const auto& [key, member] : from.members()) decode(member, values[key]);
}

template <class T>
void decode(const Cursor& from, std::vector<T>& values);

template <class T>
void decode(const Cursor& from, T& value) {
  visit(value, [&](const char* key, auto& member) {
    const bool is_newer = key == std::string_view(kDerivedKnobs);
    if (!is_newer || from.has(key)) decode(from.at(key), member);
  });
}

template <class T>
void decode(const Cursor& from, std::vector<T>& values) {
  for (const Cursor& element : from.elements()) decode(element, values.emplace_back());
}

void check(const Cursor& root, const std::vector<RunFigures>& runs) {
  const std::vector<Cursor> elements = root.at("runs").elements();
  if (runs.empty()) root.at("runs").fail("is empty: a baseline has one run at least");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Cursor> cells = elements[i].at("cells").elements();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto step = runs[i].cells[c].metrics.find("step");
      if (step == runs[i].cells[c].metrics.end()) cells[c].at("metrics").fail("has no \"step\"");
      if (step->second <= 0) cells[c].at("metrics").at("step").fail("must be above 0");
    }
  }
}

void check_schema(const Cursor& schema) {
  const std::string name = schema.string();
  if (name == kSchema) return;
  if (name.starts_with("underlap.baseline/"))
    schema.fail(
        fmt::format("is \"{}\", of another version of Underlap; this one reads \"{}\": save the baseline anew "
                    "with `underlap baseline save`",
                    name, kSchema));
  schema.fail(fmt::format("is \"{}\", must be \"{}\"", name, kSchema));
}

// "backend is host in the one and sim in the other"; empty where they do not differ.
std::string difference_of(const std::map<std::string, std::string>& one,
                          const std::map<std::string, std::string>& other) {
  for (const auto& [what, value] : one)
    if (const auto found = other.find(what); found != other.end() && found->second != value)
      return fmt::format("{} is {} in the one and {} in the other", what, value, found->second);
  return "";
}

std::string missing_cell(const RunFigures& one, const RunFigures& other) {
  for (const compare::CellFigures& cell : one.cells)
    if (compare::find_cell(other, cell.name) == nullptr)
      return fmt::format("{} has no cell {}, which {} has", other.source, cell.name, one.source);
  return "";
}

std::string difference_of(const RunFigures& one, const RunFigures& other) {
  if (std::string why = difference_of(one.kind, other.kind); !why.empty()) return why;
  for (const auto& [whole, run] : {std::pair{&one, &other}, std::pair{&other, &one}})
    if (std::string why = missing_cell(*whole, *run); !why.empty()) return why;
  for (const compare::CellFigures& cell : one.cells)
    if (const std::string why = difference_of(cell.work, compare::find_cell(other, cell.name)->work); !why.empty())
      return fmt::format("cell {}: {}", cell.name, why);
  return "";
}

}  // namespace

void check_baseline(const std::vector<RunFigures>& runs) {
  if (runs.size() < 2) return;
  for (const RunFigures& run : runs)
    if (const std::string why = difference_of(runs.front(), run); !why.empty())
      throw std::invalid_argument(fmt::format("{} and {} are no runs of one baseline: {}\n  save them apart",
                                              runs.front().source, run.source, why));
  compare::check_sides({runs.begin(), runs.end() - 1}, {runs.back()});
  compare::refuse_same_run(runs, {});
}

std::string baseline_text(const std::vector<RunFigures>& runs) {
  const Json document{{"schema", kSchema}, {"runs", encode(runs)}};
  return json_text(document, 1) + "\n";
}

std::vector<RunFigures> read_baseline(const std::filesystem::path& file) {
  const Json document = read_json_file(file);
  const Cursor root(document, file.string());
  check_schema(root.at("schema"));
  std::vector<RunFigures> runs;
  decode(root.at("runs"), runs);
  check(root, runs);
  return runs;
}

}  // namespace underlap::gate
