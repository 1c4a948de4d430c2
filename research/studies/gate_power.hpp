// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/table.hpp"

namespace underlap::bench {

/// Distribution of step times over runs, all as shares of the step.
struct RunNoise {
  double common = 0.007;       ///< between runs, common to all cells of a run; standard deviation
  double cell = 0.007;         ///< between runs, independent for each cell; standard deviation
  double step = 0.03;          ///< within a run, first-order autoregressive; standard deviation
  double correlation = 0.5;    ///< of a step with the previous one
  double tail_share = 0.02;    ///< share of steps with an additional slowdown
  double tail_mean = 0.3;      ///< mean slowdown of these; exponential
  double exposed_share = 0.2;  ///< exposed communication, of the step
  double exposed_follows = 1;  ///< share of a run's extra step time that is exposed as well
  double exposed_own = 0.005;  ///< additional independent noise of exposed time between runs; standard deviation
};

/// Number and length of the runs that the gate compares.
struct GateScenario {
  std::int32_t runs = 3;         ///< per side
  std::int32_t steps = 20;       ///< of each run
  double tolerance = 0.05;       ///< also the slowdown of the one slower cell
  double common_factor = 1;      ///< multiplies the noise that is common to all cells of a run
  std::int32_t interleaved = 0;  ///< 1: baseline and candidate alternate, and share the noise that is common to a run
};

/// How often the gate is right, for runs drawn from a noise model.
struct GatePowerStudy {
  std::int32_t gates = 2000;  ///< drawn without a change, and as many with one
  std::int32_t cells = 32;
  std::uint64_t seed = 1;
  RunNoise noise{};
  std::vector<GateScenario> scenarios{{}};
};

/// Shares of the drawn gates.
struct GatePowerRow {
  GateScenario scenario;
  double false_regression = 0;        ///< of the gates without a change, those that report any regression
  double false_regression_limit = 0;  ///< its exact upper 95 % limit (Clopper-Pearson)
  double found = 0;                   ///< of those with one slower cell, those that report its regression
  double found_exposed = 0;           ///< the same for its exposed time, which is longer by the same share
  double found_alone = 0;             ///< the same without pooling over cells: a plain t test
  double wrongly_passed = 0;          ///< of those with one slower cell, those that pass it
  double missed = 0;                  ///< of all one-sided limits of steps without a change, those beyond 0
};

/// Parses YAML of `where`. Throws std::invalid_argument with every error, one line each.
GatePowerStudy parse_gate_power_study(const std::string& yaml, const std::string& where);

/// Draws whole runs and gates them as `underlap gate` does, with its default rules. A cell's step is the median over
/// its steps; exposed time, of two modes, and efficiency follow from it. The same seed gives the same rows.
std::vector<GatePowerRow> run_gate_power(const GatePowerStudy& study);

Table gate_power_table(const std::vector<GatePowerRow>& rows);
std::string gate_power_json(const GatePowerStudy& study, const std::vector<GatePowerRow>& rows);
std::string gate_power_markdown(const GatePowerStudy& study, const std::vector<GatePowerRow>& rows);

}  // namespace underlap::bench
