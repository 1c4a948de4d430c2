// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "impl/plan/plan_text.hpp"
#include "platform/exit_code.hpp"
#include "platform/terminal.hpp"

namespace underlap::bench {
namespace {

struct PlanArguments {
  std::string config;
  bool json = false;
  bool strict = false;
};

/// Requests that a gate switched off, on stderr. False where there is none.
bool print_gates(const plan::Matrix& matrix, const std::string& file) {
  std::set<std::string> lines;
  for (const plan::Cell& cell : matrix.cells)
    for (const plan::Knob& knob : cell.plan.knobs)
      if (knob.source == "gate")
        lines.insert(fmt::format("{}: {} was requested as {} and is {}: {}", knob.where.empty() ? file : knob.where,
                                 knob.name, to_json_text(knob.requested), to_json_text(knob.effective), knob.reason));
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
  return !lines.empty();
}

int run_plan(const PlanArguments& arguments) {
  const plan::Matrix matrix = read_matrix(arguments.config);
  if (arguments.json) {
    // One configuration gives one plan; a matrix gives an array of them, each with its cell's name.
    fmt::print("{}\n", plans_json(matrix));
  } else {
    for (const plan::Cell& cell : matrix.cells) {
      if (matrix.cells.size() > 1) fmt::print("{}cell {}\n\n", &cell == &matrix.cells.front() ? "" : "\n", cell.name);
      fmt::print("{}", plan::to_text(cell.plan, terminal_format(STDOUT_FILENO)));
    }
  }
  print_errors(matrix);
  const bool is_refused = arguments.strict && print_gates(matrix, arguments.config);
  return matrix.has_errors() || is_refused ? kBadInput : kWell;
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand("plan", "Show what is in effect for a configuration, and why");
  command->add_option("CONFIG", arguments->config, "configuration, YAML")->required();
  command->add_flag("--json", arguments->json, "print JSON, schema underlap.plan/1");
  command->add_flag("--strict", arguments->strict, "exit with 2 where a gate switched a request off");
  command->footer("Example: underlap plan bench/matrices/quick.yaml");
  command->callback([arguments, &exit_code] { exit_code = run_plan(*arguments); });
}

}  // namespace underlap::bench
