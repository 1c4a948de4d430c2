// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "platform/json.hpp"
#include "research/studies/gate_power.hpp"
#include "research/studies/model_errors.hpp"

namespace underlap::bench {

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
      "# How often the gate is right\n\n{} gates of {} cells are drawn without a change, and as many with one cell "
      "slower by the tolerance. Each is judged as by `underlap gate`. The data is drawn from a noise model, not "
      "measured: runs differ by {:g} % in common to all cells and by {:g} % per cell; steps within a run differ by "
      "{:g} %, each correlated by {:g} with the previous one; {:g} % of the steps take longer by {:g} % on average "
      "(exponential). The value of a run is its median step. Communication of two modes is exposed for {:g} % of the "
      "step. If a run's step is longer, {:g} % of the difference is exposed; exposed time also varies by {:g} % of the "
      "step. Interleaved runs share the variation that is common to all cells.\n\nFalse regression: gates without a "
      "change that report one in any metric of any cell; at most: its exact upper 95 % limit. Found: the slower cell's "
      "step is reported as a regression; exposed found: its exposed time is, which is longer by the same amount; by "
      "plain t: the step is, without pooling the spread of cells. Wrongly passed: the step passes although it is "
      "slower by the full tolerance. Limits missed: one-sided 95 % limits of all steps without a change that indicate "
      "a change; at most 5 % are expected. Common: factor on the variation that is common to all cells.\n\n{}",
      study.gates, study.cells, 100 * study.noise.common, 100 * study.noise.cell, 100 * study.noise.step,
      study.noise.correlation, 100 * study.noise.tail_share, 100 * study.noise.tail_mean,
      100 * study.noise.exposed_share, 100 * study.noise.exposed_follows, 100 * study.noise.exposed_own,
      markdown(gate_power_table(rows)));
}

}  // namespace underlap::bench
