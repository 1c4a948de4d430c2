// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include "research/studies/gate_power.hpp"
#include "research/studies/study_parser.hpp"

namespace underlap::bench {
namespace {

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

}  // namespace underlap::bench
