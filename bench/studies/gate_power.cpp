// SPDX-License-Identifier: Apache-2.0
#include "bench/studies/gate_power.hpp"

#include <cmath>
#include <random>

#include "profiler/gate/verdict.hpp"
#include "profiler/report/distributions.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::bench {
namespace {

class Draw {
 public:
  Draw(const RunNoise& noise, std::uint64_t seed) : noise_(noise), engine_(seed) {}

  double normal(double deviation) { return deviation * normal_(engine_); }

  /// The figure of one cell in one run: the median of the logarithms of its steps' times.
  double median_step(double run_shift, std::int32_t steps) {
    std::vector<double> times;
    double drift = normal(noise_.step);
    for (std::int32_t i = 0; i < steps; ++i) {
      times.push_back(run_shift + drift + tail());
      drift = noise_.correlation * drift + normal(noise_.step * std::sqrt(1 - noise_.correlation * noise_.correlation));
    }
    return report::median(times);
  }

 private:
  double tail() {
    if (uniform_(engine_) >= noise_.tail_share) return 0;
    return std::log1p(-noise_.tail_mean * std::log1p(-uniform_(engine_)));
  }

  const RunNoise& noise_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

using Runs = std::vector<std::vector<double>>;  // by cell, then run

Runs draw_side(const GatePowerStudy& study, const GateScenario& scenario, const std::vector<double>& common,
               Draw& draw) {
  Runs runs(static_cast<std::size_t>(study.cells));
  for (const double shift : common)
    for (std::vector<double>& cell : runs)
      cell.push_back(draw.median_step(shift + draw.normal(study.noise.cell), scenario.steps));
  return runs;
}

std::vector<gate::Row> draw_gate(const GatePowerStudy& study, const GateScenario& scenario, Draw& draw) {
  const auto shifts = [&] {
    std::vector<double> common;
    for (std::int32_t run = 0; run < scenario.runs; ++run) common.push_back(draw.normal(study.noise.common));
    return common;
  };
  const std::vector<double> of_baseline = shifts();
  const Runs baseline = draw_side(study, scenario, of_baseline, draw);
  const Runs candidate = draw_side(study, scenario, scenario.interleaved != 0 ? of_baseline : shifts(), draw);
  std::vector<gate::Row> rows;
  for (std::size_t cell = 0; cell < baseline.size(); ++cell)
    rows.push_back(
        {.baseline = baseline[cell], .candidate = candidate[cell], .tolerance = std::log1p(scenario.tolerance)});
  return rows;
}

bool has_regression(const std::vector<gate::Judgement>& judgements) {
  for (const gate::Judgement& judgement : judgements)
    if (judgement.verdict == gate::Verdict::regression) return true;
  return false;
}

GatePowerRow power_of(const GatePowerStudy& study, const GateScenario& scenario) {
  Draw draw(study.noise, study.seed);
  const gate::JudgeOptions options{.paired = scenario.interleaved != 0};
  std::int32_t wrong = 0, found = 0, found_alone = 0, passed = 0;
  for (std::int32_t i = 0; i < study.gates; ++i) {
    std::vector<gate::Row> rows = draw_gate(study, scenario, draw);
    wrong += has_regression(gate::judge(rows, options));
    rows = draw_gate(study, scenario, draw);
    for (double& time : rows[0].candidate) time += std::log1p(scenario.tolerance);
    const gate::Verdict verdict = gate::judge(rows, options)[0].verdict;
    found += verdict == gate::Verdict::regression;
    passed += verdict == gate::Verdict::pass;
    for (std::size_t cell = 0; cell < rows.size(); ++cell) rows[cell].pool = static_cast<std::uint32_t>(cell);
    found_alone += gate::judge(rows, options)[0].verdict == gate::Verdict::regression;
  }
  const auto share = [&](std::int32_t count) { return count / static_cast<double>(study.gates); };
  return {.scenario = scenario,
          .false_regression = share(wrong),
          .false_regression_limit = report::upper_limit_of_share(wrong, study.gates, 0.95),
          .found = share(found),
          .found_alone = share(found_alone),
          .wrongly_passed = share(passed)};
}

}  // namespace

std::vector<GatePowerRow> run_gate_power(const GatePowerStudy& study) {
  std::vector<GatePowerRow> rows;
  for (const GateScenario& scenario : study.scenarios) rows.push_back(power_of(study, scenario));
  return rows;
}

}  // namespace underlap::bench
