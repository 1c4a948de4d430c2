// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "platform/json.hpp"
#include "research/studies/errors.hpp"
#include "research/studies/gate_power.hpp"

namespace underlap::bench {
namespace {}  // namespace

Table gate_power_table(const std::vector<GatePowerRow>& rows) {
  Table table{{{"runs"},
               {"steps"},
               {"tolerance"},
               {"common"},
               {"interleaved", Align::left},
               {"false regression"},
               {"at most"},
               {"found"},
               {"exposed found"},
               {"by plain t", Align::right, 1},
               {"wrongly passed"},
               {"limits missed"}},
              {}};
  for (const GatePowerRow& row : rows)
    table.rows.push_back({std::to_string(row.scenario.runs), std::to_string(row.scenario.steps),
                          percent(row.scenario.tolerance), fmt::format("x {:g}", row.scenario.common_factor),
                          std::string(row.scenario.interleaved != 0 ? "yes" : "no"), percent(row.false_regression),
                          percent(row.false_regression_limit), percent(row.found), percent(row.found_exposed),
                          percent(row.found_alone), percent(row.wrongly_passed), percent(row.missed)});
  return table;
}

std::string gate_power_json(const GatePowerStudy& study, const std::vector<GatePowerRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "underlap.gate_power/1"},
                {"study",
                 {{"gates", study.gates},
                  {"cells", study.cells},
                  {"seed", study.seed},
                  {"noise",
                   {{"common", study.noise.common},
                    {"cell", study.noise.cell},
                    {"step", study.noise.step},
                    {"correlation", study.noise.correlation},
                    {"tail_share", study.noise.tail_share},
                    {"tail_mean", study.noise.tail_mean},
                    {"exposed_share", study.noise.exposed_share},
                    {"exposed_follows", study.noise.exposed_follows},
                    {"exposed_own", study.noise.exposed_own}}}}},
                {"rows", Json::array()}};
  for (const GatePowerRow& row : rows)
    document["rows"].push_back({{"runs", row.scenario.runs},
                                {"steps", row.scenario.steps},
                                {"tolerance", row.scenario.tolerance},
                                {"common_factor", row.scenario.common_factor},
                                {"interleaved", row.scenario.interleaved != 0},
                                {"false_regression", row.false_regression},
                                {"false_regression_limit", row.false_regression_limit},
                                {"found", row.found},
                                {"found_exposed", row.found_exposed},
                                {"found_alone", row.found_alone},
                                {"wrongly_passed", row.wrongly_passed},
                                {"limits_missed", row.missed}});
  return json_text(document, 1) + "\n";
}

std::string gate_power_markdown(const GatePowerStudy& study, const std::vector<GatePowerRow>& rows) {
  return fmt::format(
      "# How often the gate is right\n\n"
      "{} gates of {} cells drawn without a change, and as many in which one cell is slower by the tolerance, each "
      "judged "
      "as `underlap gate` judges. Drawn from a model, not measured: runs differ by {:g} % in common to all cells and "
      "by "
      "{:g} % cell by cell; within a run steps differ by {:g} %, each correlated by {:g} with the one before; {:g} % "
      "of "
      "the steps take longer by {:g} % in the mean (exponential). A run's figure is its median step. Communication of "
      "two "
      "modes is exposed for {:g} % of the step; of what a step is longer in a run {:g} % are exposed, and beside that "
      "exposed time differs by {:g} % of the step. Interleaved runs share what is common to a run.\n\n"
      "False regression: of the gates without a change, those with one in any metric of any cell; at most: its exact "
      "upper 95 % limit. Found: the slower cell's step is a regression; exposed found: its exposed time is, which is "
      "longer by as much; by plain t: the step where cells lend each other no spread. Wrongly passed: the step passes "
      "although it is slower by all that is tolerated. Limits missed: of the one-sided 95 % limits of all steps "
      "without a "
      "change, those that say that there is one; 5 % is what they promise at most. Common: a factor on what runs "
      "differ "
      "by in common.\n\n{}",
      study.gates, study.cells, 100 * study.noise.common, 100 * study.noise.cell, 100 * study.noise.step,
      study.noise.correlation, 100 * study.noise.tail_share, 100 * study.noise.tail_mean,
      100 * study.noise.exposed_share, 100 * study.noise.exposed_follows, 100 * study.noise.exposed_own,
      markdown(gate_power_table(rows)));
}

}  // namespace underlap::bench
