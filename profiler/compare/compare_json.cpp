// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/fields/json_fields.hpp"
#include "profiler/compare/compare_report.hpp"

namespace underlap::compare {
namespace {

using Json = nlohmann::ordered_json;
using fields::encode;

Json from_to(std::int64_t from, std::int64_t to) { return {{"from_ns", from}, {"to_ns", to}, {"delta_ns", to - from}}; }

// Null where a side does not know its figure.
Json from_to(std::int64_t from, bool from_is_known, std::int64_t to, bool to_is_known) {
  Json json = from_to(from, to);
  if (!from_is_known) json["from_ns"] = nullptr;
  if (!to_is_known) json["to_ns"] = nullptr;
  if (!from_is_known || !to_is_known) json["delta_ns"] = nullptr;
  return json;
}

Json modes_of(const TraceChange& change) {
  Json modes = Json::object();
  for (const auto& [mode, ns] : paired(change.from.exposed_ns_by_modes, change.to.exposed_ns_by_modes))
    modes[mode] = from_to(ns.first, ns.second);
  return modes;
}

// Of each mode all that is exposed, beside others' or not.
Json communication_of(const TraceChange& change) {
  Json modes = Json::object();
  for (const auto& [mode, sides] : paired(change.from.modes, change.to.modes)) {
    const auto& [one, other] = sides;
    const bool from_knows = analysis::is_split(one.exposed_unsplit_ns, one.exposed_ns);
    const bool to_knows = analysis::is_split(other.exposed_unsplit_ns, other.exposed_ns);
    modes[mode] = {
        {"exposed", from_to(one.exposed_ns, other.exposed_ns)},
        {"exposed_wait", from_to(one.exposed_wait_ns, from_knows, other.exposed_wait_ns, to_knows)},
        {"exposed_transfer", from_to(one.exposed_transfer_ns, from_knows, other.exposed_transfer_ns, to_knows)},
        {"exposed_unsplit", from_to(one.exposed_unsplit_ns, other.exposed_unsplit_ns)}};
  }
  return modes;
}

Json sums_of(const std::vector<StepSum>& sums) {
  Json json = Json::object();
  for (const StepSum& sum : sums) json[sum.name] = from_to(sum.from_step_ns, sum.to_step_ns);
  return json;
}

Json json_of(const OperationChange& operation) {
  return {{"name", operation.name},
          {"kind", operation.kind},
          {"mode", operation.mode},
          {"purpose", operation.purpose},
          {"stream", operation.stream},
          {"first_layer", operation.first_layer},
          {"last_layer", operation.last_layer},
          {"match", to_string(operation.match)},
          {"count", {{"from", operation.from_count}, {"to", operation.to_count}}},
          {"busy", from_to(operation.from_busy_ns, operation.to_busy_ns)},
          {"step", from_to(operation.from_step_ns, operation.to_step_ns)}};
}

Json json_of(const TraceChange& change) {
  Json json{{"windows", change.windows}, {"left_out", change.left_out}};
  json["matched_by"] = change.is_matched_by_tags ? "tags" : "order";
  json["window"] = from_to(change.from.window_ns, change.to.window_ns);
  json["compute"] = from_to(change.from.compute_ns(), change.to.compute_ns());
  json["contention_ns"] = change.compute.contention_ns();
  json["decomposition_ns"] = change.compute.decomposition_ns();
  json["concurrency_ns"] = change.compute.concurrency_change_ns();
  json["exposed"] = from_to(change.from.exposed_ns(), change.to.exposed_ns());
  json["exposed_by_modes"] = modes_of(change);
  const bool from_knows = waits_are_known(change.from), to_knows = waits_are_known(change.to);
  json["exposed_wait"] = from_to(change.from.exposed_wait_ns, from_knows, change.to.exposed_wait_ns, to_knows);
  json["exposed_transfer"] =
      from_to(change.from.exposed_transfer_ns(), from_knows, change.to.exposed_transfer_ns(), to_knows);
  json["exposed_unsplit"] = from_to(change.from.exposed_unsplit_ns, change.to.exposed_unsplit_ns);
  json["copy_only"] = from_to(change.from.copy_only_ns, change.to.copy_only_ns);
  json["idle"] = from_to(change.from.idle_ns, change.to.idle_ns);
  json["modes"] = communication_of(change);
  json["by_stream"] = sums_of(sums_by(change.operations, &OperationChange::stream));
  json["by_purpose"] = sums_of(sums_by(change.operations, &OperationChange::purpose));
  json["operations"] = Json::array();
  for (const OperationChange& operation : change.operations) json["operations"].push_back(json_of(operation));
  json["net_operations"] = Json::array();
  for (const NetOperation& operation : change.net) {
    Json net = json_of(operation);
    net["count"]["added"] = operation.added;
    net["count"]["removed"] = operation.removed;
    json["net_operations"].push_back(std::move(net));
  }
  return json;
}

}  // namespace

std::string compare_json(const CompareReport& report) {
  Json json{{"schema", "underlap.compare/1"}, {"from", report.from}, {"to", report.to}};
  json["forced"] = report.forced.empty() ? Json(nullptr) : Json(report.forced);
  json["notes"] = report.notes;
  json["differences"] = encode(report.differences);
  json["comparisons"] = Json::array();
  for (const Comparison& comparison : report.comparisons)
    json["comparisons"].push_back({{"name", comparison.name},
                                   {"sentence", sentence_of(comparison)},
                                   {"from_step_ns", comparison.from_step_ns},
                                   {"to_step_ns", comparison.to_step_ns},
                                   {"from_exposed_ns", encode(comparison.from_exposed_ns)},
                                   {"to_exposed_ns", encode(comparison.to_exposed_ns)},
                                   {"change", comparison.change ? json_of(*comparison.change) : Json(nullptr)}});
  return json_text(json, 1) + "\n";
}

}  // namespace underlap::compare
