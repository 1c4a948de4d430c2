// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "platform/fields/json_schema.hpp"
#include "profiler/report/csv.hpp"
#include "profiler/report/results_schema.hpp"
#include "profiler/report/scaling/scaling.hpp"

namespace underlap::report {
namespace {

using Json = nlohmann::ordered_json;
using fields::Derived, fields::Is, fields::NullIf;

Json modes_json(const CellSummary& summary) {
  Json modes = fields::encode(summary.modes);
  for (Json& mode : modes) mode.erase("count");
  return modes;
}

}  // namespace

// The fields of the JSON.

void visit_fields(Is<Spread> auto& spread, auto&& field) {
  field("least_ms", spread.least);
  field("p5_ms", spread.p5);
  field("median_ms", spread.median);
  field("p95_ms", spread.p95);
  field("most_ms", spread.most);
}

void visit_fields(Is<SlowestRank> auto& slowest, auto&& field) {
  field("rank", slowest.rank);
  field("node", NullIf{slowest.node, slowest.node.empty()});
  field("own_ms", slowest.own_ms);
  field("share_of_steps", slowest.share_of_steps);
}

void visit_fields(Is<SlowestNode> auto& slowest, auto&& field) {
  field("node", slowest.node);
  field("own_ms", slowest.own_ms);
}

void visit_fields(Is<ScaledPoint> auto& scaled, auto&& field) {
  auto& point = scaled.point;
  const bool is_recorded = point.summary.exposed_ms.has_value();
  field("run", point.run);
  field("runs", point.num_runs);
  field("cell", point.name);
  field("times", Derived{[&] { return times_of(point); }});
  field("backend", point.backend);
  field("ranks", point.num_ranks);
  field("ranks_played", point.num_ranks_played);
  field("nodes", point.num_nodes);
  field("sequences", point.sequences);
  field("tokens", point.tokens);
  field("step_ms", point.summary.step_ms);
  field("step_to_smallest", scaled.step_to_smallest);
  field("efficiency", scaled.efficiency);
  field("step_to_model", scaled.step_to_model);
  field("exposed_ms", point.summary.exposed_ms);
  field("exposed_wait_ms", NullIf{point.exposed_wait_ms, !is_recorded});
  field("exposed_transfer_ms", NullIf{point.exposed_transfer_ms, !is_recorded});
  field("exposed_unsplit_ms", NullIf{point.exposed_unsplit_ms, !is_recorded});
  field("modes", Derived{[&] { return modes_json(point.summary); }});
  field("exposed_over_ranks", point.exposed_spread);
  field("own_over_ranks", point.own_spread);
  field("slowest_rank", point.slowest_rank);
  field("slowest_node", point.slowest_node);
}

void visit_fields(Is<ScaledCell> auto& cell, auto&& field) {
  field("name", cell.name);
  field("scaling", cell.scaling);
  field("sentences", Derived{[&] { return scaling_sentences(cell); }});
  field("points", cell.points);
}

void visit_fields(Is<ScalingDifference> auto& difference, auto&& field) {
  field("what", difference.what);
  field("smallest_run", difference.smallest_run);
  field("smallest", difference.smallest);
  field("run", difference.run);
  field("other", difference.other);
}

void visit_fields(Is<ScalingReport> auto& report, auto&& field) {
  field("forced", NullIf{report.forced, report.forced.empty()});
  field("notes", report.notes);
  field("differences", report.differences);
  field("cells", report.cells);
}

namespace {

void put_spread(Sheet& sheet, const std::string& name, const std::optional<Spread>& spread) {
  const Spread figures = spread.value_or(Spread{});
  visit_fields(figures, [&](const std::string& key, double ms) {
    sheet.put(name + "_" + key, spread ? std::optional(ms) : std::nullopt);
  });
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

std::string scaling_json(const ScalingReport& report) { return fields::document_text("underlap.scaling/1", report); }

std::string scaling_json_schema() { return fields::schema_text<ScalingReport>("underlap.scaling/1"); }

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
