// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include "platform/json.hpp"
#include "profiler/report/scaling/scaling_report.hpp"
#include "profiler/report/sheet.hpp"

namespace underlap::report {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"least_ms", spread->least},
          {"p5_ms", spread->p5},
          {"median_ms", spread->median},
          {"p95_ms", spread->p95},
          {"most_ms", spread->most}};
}

Json json_of(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  Json json{{"value", estimate->value}, {"interval", nullptr}, {"blocks", estimate->blocks}};
  if (estimate->interval) json["interval"] = {{"low", estimate->interval->low}, {"high", estimate->interval->high}};
  return json;
}

Json json_of(const std::optional<SlowestRank>& slowest) {
  if (!slowest) return nullptr;
  return {{"rank", slowest->rank},
          {"node", slowest->node.empty() ? Json(nullptr) : Json(slowest->node)},
          {"own_ms", slowest->own_ms},
          {"share_of_steps", slowest->share_of_steps}};
}

Json json_of(const std::optional<SlowestNode>& slowest) {
  if (!slowest) return nullptr;
  return {{"node", slowest->node}, {"own_ms", slowest->own_ms}};
}

Json modes_json(const CellSummary& summary) {
  Json modes = Json::object();
  for (const auto& [mode, figures] : summary.modes)
    modes[mode] = {{"comm_ms", figures.comm_ms},
                   {"exposed_ms", figures.exposed_ms},
                   {"exposed_wait_ms", figures.exposed_wait_ms},
                   {"pipeline_dependency_ms", figures.pipeline_dependency_ms},
                   {"exposed_transfer_ms", figures.exposed_transfer_ms},
                   {"exposed_unsplit_ms", figures.exposed_unsplit_ms},
                   {"bytes_on_wire", figures.bytes_on_wire}};
  return modes;
}

Json json_of(const ScaledPoint& scaled) {
  const ScalingPoint& point = scaled.point;
  Json json{{"run", point.run},
            {"runs", point.num_runs},
            {"cell", point.name},
            {"times", point.is_modelled ? "modelled" : "measured"},
            {"backend", point.backend},
            {"ranks", point.num_ranks},
            {"ranks_played", point.num_ranks_played},
            {"nodes", or_null(point.num_nodes)},
            {"sequences", or_null(point.sequences)},
            {"tokens", or_null(point.tokens)},
            {"step_ms", json_of(point.summary.step_ms)},
            {"step_to_smallest", or_null(scaled.step_to_smallest)},
            {"efficiency", or_null(scaled.efficiency)},
            {"step_to_model", or_null(scaled.step_to_model)},
            {"exposed_ms", json_of(point.summary.exposed_ms)}};
  const bool is_recorded = point.summary.exposed_ms.has_value();
  json["exposed_wait_ms"] = is_recorded ? Json(point.exposed_wait_ms) : Json(nullptr);
  json["exposed_transfer_ms"] = is_recorded ? Json(point.exposed_transfer_ms) : Json(nullptr);
  json["exposed_unsplit_ms"] = is_recorded ? Json(point.exposed_unsplit_ms) : Json(nullptr);
  json["modes"] = modes_json(point.summary);
  json["exposed_over_ranks"] = json_of(point.exposed_spread);
  json["own_over_ranks"] = json_of(point.own_spread);
  json["slowest_rank"] = json_of(point.slowest_rank);
  json["slowest_node"] = json_of(point.slowest_node);
  return json;
}

Json json_of(const ScaledCell& cell) {
  Json json{{"name", cell.name}, {"scaling", to_string(cell.scaling)}, {"sentences", scaling_sentences(cell)}};
  json["points"] = Json::array();
  for (const ScaledPoint& scaled : cell.points) json["points"].push_back(json_of(scaled));
  return json;
}

void put_spread(Sheet& sheet, const std::string& name, const std::optional<Spread>& spread) {
  const auto put = [&](const char* which, double Spread::*member) {
    sheet.put(name + which, spread ? std::optional(*spread.*member) : std::nullopt);
  };
  put("_least_ms", &Spread::least);
  put("_p5_ms", &Spread::p5);
  put("_median_ms", &Spread::median);
  put("_p95_ms", &Spread::p95);
  put("_most_ms", &Spread::most);
}

void put_size(Sheet& sheet, const ScalingPoint& point) {
  sheet.put("run", point.run);
  sheet.put("runs", std::int64_t{point.num_runs});
  sheet.put("times_are", std::string(point.is_modelled ? "modelled" : "measured"));
  sheet.put("ranks", std::int64_t{point.num_ranks});
  sheet.put("ranks_played", std::int64_t{point.num_ranks_played});
  sheet.put("nodes", point.num_nodes ? std::to_string(*point.num_nodes) : std::string());
  sheet.put("sequences", point.sequences);
  sheet.put("tokens", point.tokens);
}

void put_figures(Sheet& sheet, const ScaledPoint& scaled) {
  const ScalingPoint& point = scaled.point;
  sheet.put("step_ms", point.summary.step_ms);
  sheet.put("step_to_smallest_ratio", scaled.step_to_smallest);
  sheet.put("efficiency_ratio", scaled.efficiency);
  sheet.put("step_to_model_ratio", scaled.step_to_model);
  sheet.put("exposed_ms", point.summary.exposed_ms);
  const auto of_recorded = [&](double ms) { return point.summary.exposed_ms ? std::optional(ms) : std::nullopt; };
  sheet.put("exposed_wait_ms", of_recorded(point.exposed_wait_ms));
  sheet.put("exposed_transfer_ms", of_recorded(point.exposed_transfer_ms));
  sheet.put("exposed_unsplit_ms", of_recorded(point.exposed_unsplit_ms));
}

void put_ranks(Sheet& sheet, const ScalingPoint& point) {
  put_spread(sheet, "exposed_over_ranks", point.exposed_spread);
  put_spread(sheet, "own_over_ranks", point.own_spread);
  const auto& rank = point.slowest_rank;
  sheet.put("slowest_rank", rank ? std::to_string(rank->rank) : std::string());
  sheet.put("slowest_rank_node", rank ? rank->node : std::string());
  sheet.put("slowest_rank_own_ms", rank ? std::optional(rank->own_ms) : std::nullopt);
  sheet.put("slowest_rank_share_of_steps_ratio", rank ? std::optional(rank->share_of_steps) : std::nullopt);
  sheet.put("slowest_node", point.slowest_node ? point.slowest_node->node : std::string());
  sheet.put("slowest_node_own_ms", point.slowest_node ? std::optional(point.slowest_node->own_ms) : std::nullopt);
}

}  // namespace

std::string scaling_json(const ScalingReport& report) {
  Json json{{"schema", "underlap.scaling/1"}};
  json["forced"] = report.forced.empty() ? Json(nullptr) : Json(report.forced);
  json["notes"] = report.notes;
  json["differences"] = Json::array();
  for (const ScalingDifference& difference : report.differences)
    json["differences"].push_back({{"what", difference.what},
                                   {"smallest_run", difference.smallest_run},
                                   {"smallest", difference.smallest},
                                   {"run", difference.run},
                                   {"other", difference.other}});
  json["cells"] = Json::array();
  for (const ScaledCell& cell : report.cells) json["cells"].push_back(json_of(cell));
  return json_text(json, 1) + "\n";
}

std::string scaling_csv(const ScalingReport& report) {
  Sheet sheet;
  for (const ScaledCell& cell : report.cells)
    for (const ScaledPoint& scaled : cell.points) {
      sheet.begin_row();
      sheet.put("cell", cell.name);
      put_size(sheet, scaled.point);
      put_figures(sheet, scaled);
      put_ranks(sheet, scaled.point);
      for (const auto& [mode, figures] : scaled.point.summary.modes) {
        sheet.put("mode." + mode + ".exposed_ms", std::optional(figures.exposed_ms));
        sheet.put("mode." + mode + ".exposed_wait_ms", std::optional(figures.exposed_wait_ms));
        sheet.put("mode." + mode + ".exposed_transfer_ms", std::optional(figures.exposed_transfer_ms));
      }
    }
  return sheet.text();
}

}  // namespace underlap::report
