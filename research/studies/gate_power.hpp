// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/table.hpp"

namespace underlap::bench {

/// How step times of runs scatter, all as shares of the step.
struct RunNoise {
  double common = 0.007;       ///< between runs, common to all cells of a run; standard deviation
  double cell = 0.007;         ///< between runs, of each cell by itself; standard deviation
  double step = 0.03;          ///< within a run, first-order autoregressive; standard deviation
  double correlation = 0.5;    ///< of a step with the one before it
  double tail_share = 0.02;    ///< of the steps, that are slowed down beside
  double tail_mean = 0.3;      ///< by how much in the mean; exponential
  double exposed_share = 0.2;  ///< of the step, that communication is exposed
  double exposed_follows = 1;  ///< of what a step is longer in a run, that is exposed as well
  double exposed_own = 0.005;  ///< that exposed time differs by beside, between runs; standard deviation
};

/// How many runs of how many steps the gate decides from.
struct GateScenario {
  std::int32_t runs = 3;         ///< a side
  std::int32_t steps = 20;       ///< of each run
  double tolerance = 0.05;       ///< and the slowdown of the one cell that is slower
  double common_factor = 1;      ///< on the noise that is common to all cells of a run
  std::int32_t interleaved = 0;  ///< 1: baseline and candidate take turns, and share what is common to a run
};

/// How often the gate is right, on runs drawn from a model of their noise.
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
  double false_regression = 0;        ///< of the gates without a change, those with a regression anywhere
  double false_regression_limit = 0;  ///< its exact upper 95 % limit (Clopper-Pearson)
  double found = 0;                   ///< of those with one slower cell, that it is a regression
  double found_exposed = 0;           ///< the same of its exposed time, which is longer by as much
  double found_alone = 0;             ///< the same where cells lend each other nothing: a plain t test
  double wrongly_passed = 0;          ///< that it passes
  double missed = 0;                  ///< of all one-sided limits of steps without a change, those beyond 0
};

/// Parses YAML of `where`. Throws std::invalid_argument with every error, a line each.
GatePowerStudy parse_gate_power_study(const std::string& yaml, const std::string& where);

/// Draws whole runs and gates them as `underlap gate` does, by its default rules: a cell's step is the median over its
/// steps; exposed time, of two modes, and efficiency follow it. The same seed gives the same rows.
std::vector<GatePowerRow> run_gate_power(const GatePowerStudy& study);

Table gate_power_table(const std::vector<GatePowerRow>& rows);
std::string gate_power_json(const GatePowerStudy& study, const std::vector<GatePowerRow>& rows);
std::string gate_power_markdown(const GatePowerStudy& study, const std::vector<GatePowerRow>& rows);

}  // namespace underlap::bench
