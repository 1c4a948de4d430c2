// SPDX-License-Identifier: Apache-2.0
#include "research/studies/gate_power.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>

#include "profiler/gate/gate.hpp"
#include "profiler/report/statistics.hpp"
#include "research/studies/study_parser.hpp"

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

constexpr double kStepNs = 100e6;
// Overlap's share of what it could win is that of a step whose communication, not overlapped, takes this much of it.
constexpr double kCommunicationShare = 0.3;

using Runs = std::vector<compare::RunFigures>;

compare::CellFigures cell_of(std::int32_t index, double log_step, const RunNoise& noise, Draw& draw) {
  compare::CellFigures cell;
  cell.name = fmt::format("cell {}", index);
  const double more = std::expm1(log_step);
  const auto exposed = [&](double share) {
    return kStepNs * (share * noise.exposed_share + share * noise.exposed_follows * more +
                      draw.normal(noise.exposed_own * std::sqrt(share)));
  };
  const double dp = exposed(0.6), tp = exposed(0.4);
  cell.metrics = {
      {"step", kStepNs * std::exp(log_step)},           {"exposed", dp + tp}, {"exposed.dp", dp}, {"exposed.tp", tp},
      {"efficiency", 0.5 - more / kCommunicationShare}, {"bytes", 4096}};
  cell.numerics = "bit_identical";
  return cell;
}

// A side's runs of series "s", so that those of two sides are pairs where they took turns.
Runs draw_side(const GatePowerStudy& study, const GateScenario& scenario, const std::vector<double>& common,
               const std::string& side, Draw& draw) {
  Runs runs;
  for (const double shift : common) {
    compare::RunFigures& run = runs.emplace_back();
    run.series_run = static_cast<std::int32_t>(runs.size()) - 1;
    run.started_utc = run.source = fmt::format("{}/{}", side, run.series_run);
    if (scenario.interleaved != 0) run.series = "s";
    run.series_side = side;
    for (std::int32_t cell = 0; cell < study.cells; ++cell)
      run.cells.push_back(
          cell_of(cell, draw.median_step(shift + draw.normal(study.noise.cell), scenario.steps), study.noise, draw));
  }
  return runs;
}

struct DrawnGate {
  Runs baseline;
  Runs candidate;
};

DrawnGate draw_gate(const GatePowerStudy& study, const GateScenario& scenario, Draw& draw) {
  const auto shifts = [&] {
    std::vector<double> common;
    for (std::int32_t run = 0; run < scenario.runs; ++run)
      common.push_back(draw.normal(scenario.common_factor * study.noise.common));
    return common;
  };
  const std::vector<double> of_baseline = shifts();
  Runs baseline = draw_side(study, scenario, of_baseline, "baseline", draw);
  return {std::move(baseline),
          draw_side(study, scenario, scenario.interleaved != 0 ? of_baseline : shifts(), "candidate", draw)};
}

// The first cell's step takes longer by all that is tolerated, because so much more of its communication is exposed.
void slow_down(Runs& runs, double share) {
  for (compare::RunFigures& run : runs) {
    auto& metrics = run.cells.front().metrics;
    const double more = share * metrics["step"];
    for (const char* metric : {"step", "exposed", "exposed.dp"}) metrics[metric] += more;
    metrics["efficiency"] -= share / kCommunicationShare;
  }
}

gate::Verdict verdict_of(const gate::GateReport& report, const std::string& metric) {
  const auto is_it = [&](const gate::GateRow& row) { return row.cell == "cell 0" && row.metric == metric; };
  return std::ranges::find_if(report.rows, is_it)->verdict;
}

// The first cell's step where cells lend each other nothing.
gate::Verdict plain_verdict(const DrawnGate& drawn, double tolerance, const gate::JudgeOptions& options) {
  std::vector<gate::Row> rows;
  for (std::size_t cell = 0; cell < drawn.baseline.front().cells.size(); ++cell) {
    gate::Row& row = rows.emplace_back();
    row.tolerance = std::log1p(tolerance);
    row.pool = static_cast<std::uint32_t>(cell);
    for (const auto& [runs, figures] :
         {std::pair{&drawn.baseline, &row.baseline}, std::pair{&drawn.candidate, &row.candidate}})
      for (const compare::RunFigures& run : *runs) figures->push_back(std::log(run.cells[cell].metrics.at("step")));
  }
  return gate::judge(rows, options)[0].verdict;
}

// Of the one-sided limits of all steps, which do not change: how many say that they do.
std::int32_t limits_beyond_0(const gate::GateReport& report) {
  std::int32_t count = 0;
  for (const gate::GateRow& row : report.rows)
    if (row.metric == "step") count += (*row.upper < 0) + (*row.lower > 0);
  return count;
}

GatePowerRow power_of(const GatePowerStudy& study, const GateScenario& scenario) {
  using gate::Verdict;
  Draw draw(study.noise, study.seed);
  gate::GateOptions options;
  options.rules = gate::default_rules({.share = scenario.tolerance});
  std::int32_t wrong = 0, found = 0, found_exposed = 0, found_alone = 0, passed = 0;
  std::int64_t missed = 0;
  for (std::int32_t i = 0; i < study.gates; ++i) {
    DrawnGate drawn = draw_gate(study, scenario, draw);
    const gate::GateReport unchanged = gate::run_gate(drawn.baseline, drawn.candidate, options);
    wrong += unchanged.verdict == Verdict::regression;
    missed += limits_beyond_0(unchanged);
    drawn = draw_gate(study, scenario, draw);
    slow_down(drawn.candidate, scenario.tolerance);
    const gate::GateReport report = gate::run_gate(drawn.baseline, drawn.candidate, options);
    found += verdict_of(report, "step") == Verdict::regression;
    found_exposed += verdict_of(report, "exposed") == Verdict::regression;
    passed += verdict_of(report, "step") == Verdict::pass;
    found_alone +=
        plain_verdict(drawn, scenario.tolerance, {.paired = scenario.interleaved != 0}) == Verdict::regression;
  }
  const auto share = [&](std::int32_t count) { return count / static_cast<double>(study.gates); };
  return {.scenario = scenario,
          .false_regression = share(wrong),
          .false_regression_limit = report::upper_limit_of_share(wrong, study.gates, 0.95),
          .found = share(found),
          .found_exposed = share(found_exposed),
          .found_alone = share(found_alone),
          .wrongly_passed = share(passed),
          .missed = static_cast<double>(missed) / (2.0 * study.gates * study.cells)};
}

constexpr const char* kGatePowerName = "gate_power";

// {runs: 3, steps: 20, tolerance: 0.05}
void read_scenario(StudyParser& parser, const YAML::Node& node, GateScenario& scenario) {
  parser.map(node, {{"runs", parser.value(scenario.runs, 2, 100)},
                    {"steps", parser.value(scenario.steps, 1, 10'000)},
                    {"tolerance", parser.value(scenario.tolerance, 0.0, 10.0)},
                    {"common_factor", parser.value(scenario.common_factor, 0.0, 100.0)},
                    {"interleaved", parser.value(scenario.interleaved, 0, 1)}});
}

void read_gate_power(StudyParser& parser, const YAML::Node& root, GatePowerStudy& study) {
  const auto noise = [&](const YAML::Node& node) {
    parser.map(node, {{"common", parser.value(study.noise.common, 0.0, 1.0)},
                      {"cell", parser.value(study.noise.cell, 0.0, 1.0)},
                      {"step", parser.value(study.noise.step, 0.0, 1.0)},
                      {"correlation", parser.value(study.noise.correlation, -0.99, 0.99)},
                      {"tail_share", parser.value(study.noise.tail_share, 0.0, 1.0)},
                      {"tail_mean", parser.value(study.noise.tail_mean, 0.0, 100.0)},
                      {"exposed_share", parser.value(study.noise.exposed_share, 0.0, 1.0)},
                      {"exposed_follows", parser.value(study.noise.exposed_follows, 0.0, 1.0)},
                      {"exposed_own", parser.value(study.noise.exposed_own, 0.0, 1.0)}});
  };
  const auto scenarios = [&](const YAML::Node& node) {
    if (!node.IsSequence() || node.size() == 0) return parser.error(node.Mark(), "must be a list of at least one map");
    study.scenarios.clear();
    for (const YAML::Node& scenario : node) read_scenario(parser, scenario, study.scenarios.emplace_back());
  };
  parser.map(root, {{"study", parser.name(kGatePowerName)},
                    {"gates", parser.value(study.gates, 1, 1'000'000)},
                    {"cells", parser.value(study.cells, 1, 10'000)},
                    {"seed", parser.value<std::uint64_t>(study.seed, 0, ~0ULL)},
                    {"noise", noise},
                    {"scenarios", scenarios}});
}

}  // namespace

GatePowerStudy parse_gate_power_study(const std::string& yaml, const std::string& where) {
  return parsed_study(yaml, where, GatePowerStudy{}, read_gate_power);
}

std::vector<GatePowerRow> run_gate_power(const GatePowerStudy& study) {
  std::vector<GatePowerRow> rows;
  for (const GateScenario& scenario : study.scenarios) rows.push_back(power_of(study, scenario));
  return rows;
}

}  // namespace underlap::bench
